// Command ladder proves, plans, rehearses and runs the rollout of a GitOps
// platform.
package main

import (
	"io"
	"log"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/rollout-ladder/ladder/internal/cli"
	_ "github.com/rollout-ladder/ladder/internal/cli/early" // before the packages of Kubernetes
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/cli/versioncmd"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	_ "github.com/rollout-ladder/ladder/internal/worker" // the command is its own worker
)

// version is stamped by the build; empty where none does.
var version string

func main() {
	os.Exit(run(time.Now(), os.Args))
}

func run(started time.Time, args []string) int {
	// The command starts itself once more to be the control plane: a process of
	// its own, which ends with the command that wanted it.
	if len(args) > 2 && args[1] == "plane" && args[2] == "run" {
		return runPlane(started, args[3:])
	}
	// Kubernetes' own flags (such as --version=raw) are registered process-wide by
	// its packages; the command line would take them for its own.
	pflag.CommandLine = pflag.NewFlagSet(args[0], pflag.ContinueOnError)
	streams := stream.System()
	// Kustomize warns of deprecated fields on this variable, and by the standard log,
	// in the middle of what the command shows. What crashes is written to the
	// descriptor, and stays.
	if nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = nowhere
	}
	log.SetOutput(io.Discard)
	defer evaluate.Workers.Close()
	return cli.Main(args[0], args[1:], versioncmd.Built(version), streams)
}
