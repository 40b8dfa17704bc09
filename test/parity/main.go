package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	_ "github.com/rollout-ladder/ladder/internal/worker" // the program is its own worker
)

func main() {
	bin := flag.String("bin", "bin", "folder with ladder-argocd and ladder-argocd-read, which make argocd builds")
	flag.Parse()
	different, err := run(context.Background(), *bin, flag.Args(), os.Stdout)
	evaluate.Workers.Close()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "parity: "+err.Error())
		os.Exit(2)
	case different:
		os.Exit(1)
	}
}

// run compares repositories and prints what differs. It reports whether anything does.
func run(ctx context.Context, bin string, repositories []string, out io.Writer) (different bool, err error) {
	scratch, err := os.MkdirTemp("", "parity-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // a temporary folder
	var argo *reader
	defer func() {
		if argo != nil {
			argo.stop()
		}
	}()
	for _, dir := range repositories {
		folder, err := os.MkdirTemp(scratch, "")
		if err != nil {
			return false, err
		}
		if argo == nil || argo.ended {
			home, err := os.MkdirTemp(scratch, "argo-")
			if err != nil {
				return false, err
			}
			if argo, err = start(ctx, bin, home); err != nil {
				return false, fmt.Errorf("%w (make argocd builds it)", err)
			}
		}
		r, err := compare(ctx, dir, folder, argo)
		if err != nil {
			fmt.Fprintf(out, "%s: %v\n", dir, err)
			different = true
			continue
		}
		r.print(out, dir)
		different = different || len(r.differences) > 0
	}
	return different, nil
}
