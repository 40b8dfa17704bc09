package session

import (
	"path/filepath"
	"testing"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// TestReportOfAWrongOrder: the evidence of a report is where that of lint and plan is, at the
// line of the field.
func TestReportOfAWrongOrder(t *testing.T) {
	loaded, err := analysis.Load(t.Context(), filepath.Join("..", "..", "..", "examples", "wrong-order"), analysis.Options{Offline: true, NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	planned, err := plan.Build(PlanInput(loaded, rollout.Phases, nil, 0))
	if err != nil {
		t.Fatal(err)
	}
	r := Report(loaded, planned, executor.Outcome{}, Conditions{Speed: 1})
	if len(r.Against) != 1 || len(r.Against[0].Evidence) == 0 {
		t.Fatalf("against the order are %+v", r.Against)
	}
	if e := r.Against[0].Evidence[0]; e.File != "web/deployment.yaml" || e.Line != 13 {
		t.Errorf("the evidence is at %s:%d", e.File, e.Line)
	}
}
