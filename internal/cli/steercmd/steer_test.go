package steercmd

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/running"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

func TestEffectOfApprove(t *testing.T) {
	s := running.Snapshot{State: rollout.State{
		Spec: rollout.Spec{
			Steps:      []rollout.StepSpec{{Label: "100"}, {Label: "200"}},
			Components: []rollout.ComponentSpec{{Name: "a"}, {Name: "b"}, {Name: "c", Step: 1}},
		},
		Components: []rollout.ComponentState{{Name: "a", Status: rollout.Blocked}, {Name: "b", Status: rollout.Blocked}, {Name: "c", Status: rollout.Blocked}},
	}}
	for step, want := range map[string]string{"100": "2 components of step 100 may start", "200": "1 component of step 200 may start"} {
		if got := effectOfApprove(s, step); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
