package rollout_test

import (
	"fmt"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// A driver hands in events and carries out the effects.
func ExampleMachine() {
	m, err := rollout.NewMachine(rollout.Spec{
		Revision: "abc", Policy: rollout.Phases, OnFailure: rollout.Halt,
		Steps: []rollout.StepSpec{{Label: "110", Phase: true}, {Label: "120", Phase: true}},
		Components: []rollout.ComponentSpec{
			{Name: "crds", Step: 0, Timeout: time.Minute},
			{Name: "operator", Step: 1, Timeout: time.Minute},
		},
	}, time.Time{})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	fmt.Println(m.Step(rollout.Started{}, now).Effects[0])
	m.Step(rollout.SyncFinished{Component: "crds", Attempt: 1}, now)
	for _, b := range m.BlockedBy("operator") {
		fmt.Println(b.Component, b.Reason)
	}
	healthy := rollout.Observed{Component: "crds", Health: rollout.Healthy, Revision: "abc"}
	fmt.Println(m.Step(healthy, now).Effects[0])
	// Output:
	// {crds 1}
	// crds phase 110 comes first: it has not been observed yet
	// {operator 1}
}
