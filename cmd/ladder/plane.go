//go:build !noplane

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/plane/child"
	"github.com/rollout-ladder/ladder/internal/plane/controlplane"
)

// runPlane is the process of a control plane.
func runPlane(started time.Time, args []string) int {
	options, err := child.Parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ladder:", err)
		return int(exit.Usage)
	}
	evaluate.Workers.Configure(confine.Mode(options.Confine), nil)
	err = controlplane.Run(context.Background(), controlplane.Options{
		Options:  options,
		Started:  started,
		Stdin:    os.Stdin,
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Simulate: simulateWorld,
	})
	evaluate.Workers.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, child.LastWords+err.Error())
		return int(exit.CouldNotRun)
	}
	return int(exit.OK)
}
