package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

func TestBoardShowsRemovals(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	state := rollout.State{
		Spec:       rollout.Spec{Steps: []rollout.StepSpec{{}}, Components: []rollout.ComponentSpec{{Name: "site"}}},
		Components: []rollout.ComponentState{{Name: "site", Status: rollout.Done}},
		Removals: []rollout.ComponentState{
			{Name: "gone", Status: rollout.Removed},
			{Name: "new", Status: rollout.Removing, StartedAt: now.Add(-time.Second)},
			{
				Name: "slow", Status: rollout.Removing, StartedAt: now.Add(-time.Minute),
				Seen: rollout.Sighting{At: now, Message: "Pod db-0 is being deleted"},
			},
			{Name: "stuck", Status: rollout.Failed, Message: "Namespace shop holds objects of site"},
		},
	}
	b := BoardOf(state, []string{""}, func(string) []rollout.Blocker { return nil }, 0, now)
	wantRunning := []BoardRow{
		{Component: "slow", Elapsed: time.Minute, Text: "removing: Pod db-0 is being deleted"},
		{Component: "new", Elapsed: time.Second, Text: "removing: deleting"},
	}
	if diff := cmp.Diff(wantRunning, b.Running); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
	wantFailed := []BoardRow{{Component: "stuck", Text: "Namespace shop holds objects of site"}}
	if diff := cmp.Diff(wantFailed, b.Failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
}
