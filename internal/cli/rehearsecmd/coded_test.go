package rehearsecmd

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/run/rehearse"
	"github.com/rollout-ladder/ladder/internal/run/session"
	"github.com/rollout-ladder/ladder/internal/store"
)

func TestExitCodes(t *testing.T) {
	cases := map[string]struct {
		err  error
		want exit.Code
	}{
		"the plane does not start":        {&rehearse.PlaneError{Err: errors.New("no port")}, exit.CouldNotRun},
		"the plane ended":                 {&rehearse.PlaneEndedError{PID: 1}, exit.CouldNotRun},
		"the plane stopped answering":     {&rehearse.PlaneSilentError{PID: 1, For: time.Minute}, exit.CouldNotRun},
		"another process is at it":        {&store.LockedError{}, exit.CouldNotRun},
		"nothing to resume":               {&plane.NotFoundError{}, exit.Usage},
		"a component of that name is not": {&session.UnknownComponentError{}, exit.Usage},
		"interrupted":                     {context.Canceled, exit.Interrupted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := exit.Of(coded(fmt.Errorf("rehearse: %w", tc.err))); got != tc.want {
				t.Errorf("exit code %d, want %d", got, tc.want)
			}
		})
	}
}
