// Command ladder proves, plans, rehearses and runs the rollout of a GitOps
// platform.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rollout-ladder/ladder/internal/plane/child"
	"github.com/rollout-ladder/ladder/internal/plane/controlplane"
)

func main() {
	os.Exit(run(time.Now(), os.Args[1:]))
}

func run(started time.Time, args []string) int {
	if len(args) < 2 || args[0] != "plane" || args[1] != "run" {
		fmt.Fprintln(os.Stderr, "usage: ladder plane run --dir DIR")
		return 2
	}
	options, err := child.Parse(args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "ladder:", err)
		return 2
	}
	err = controlplane.Run(context.Background(), controlplane.Options{
		Options: options,
		Started: started,
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "ladder:", err)
		return 3
	}
	return 0
}
