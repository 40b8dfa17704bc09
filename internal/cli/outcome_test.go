package cli

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/outcome"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// TestVerdict holds the table of exit codes for the ends of a rollout.
func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		result      rollout.Result
		interrupted bool
		want        exit.Code
	}{
		"succeeded":   {rollout.Succeeded, false, exit.OK},
		"failed":      {rollout.ResultFailed, false, exit.No},
		"aborted":     {rollout.ResultAborted, false, exit.No},
		"timed out":   {rollout.ResultTimedOut, false, exit.TimedOut},
		"interrupted": {rollout.ResultFailed, true, exit.Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			err := outcome.Verdict(report.Rollout{Result: string(c.result)}, c.interrupted)
			got := exit.Of(err)
			if got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}
