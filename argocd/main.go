package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
)

// argoModule is the module whose version is that of Argo CD.
const argoModule = "github.com/argoproj/argo-cd/v3"

const usage = `ladder-argocd runs the controllers of Argo CD for ladder rehearse --engine argocd.

  ladder-argocd run --kubeconfig FILE --dir DIR [flags]   until standard input ends
  ladder-argocd crds                                      print the CRDs of Argo CD
  ladder-argocd version                                   print the version of Argo CD
`

func main() {
	os.Exit(dispatch(filepath.Base(os.Args[0]), os.Args[1:]))
}

// dispatch runs what the binary was called as, and returns its exit code.
func dispatch(name string, args []string) int {
	if name == helmName || name == kustomizeName {
		if err := confine(); err != nil {
			fmt.Fprintln(os.Stderr, "ladder-argocd: "+err.Error())
			return 1
		}
	}
	switch name {
	case helmName:
		return helm(args)
	case kustomizeName:
		return kustomize()
	}
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return 2
	}
	var err error
	switch args[0] {
	case "run":
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, args[1:], os.Stdin, os.Stdout)
	case partCommand:
		err = runPart(args[1:])
	case "crds":
		err = printDefinitions(os.Stdout, definitions)
	case "version":
		_, err = fmt.Println(version())
	case "help", "-h", "--help":
		_, err = fmt.Print(usage)
	default:
		err = usageError(fmt.Sprintf("there is no command %q\n%s", args[0], usage))
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "ladder-argocd: "+err.Error())
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 3
}

// usageError is a command line that cannot be understood.
type usageError string

// Error implements error.
func (e usageError) Error() string { return string(e) }

// version is that of the Argo CD inside, such as v3.2.11.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == argoModule {
			return m.Version
		}
	}
	return "unknown"
}
