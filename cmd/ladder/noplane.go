//go:build noplane

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/plane"
)

// runPlane says that this build has no control plane.
func runPlane(time.Time, []string) int {
	fmt.Fprintln(os.Stderr, "ladder:", plane.ErrNone)
	return int(exit.CouldNotRun)
}
