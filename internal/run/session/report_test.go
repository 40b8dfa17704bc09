package session

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/render"
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

// TestReportOfAnUnrendered: what stood in as an empty component ended, and never was Healthy.
func TestReportOfAnUnrendered(t *testing.T) {
	loaded := &analysis.Result{
		Platform:   &repo.Platform{Components: []model.Component{{Name: "db", Enabled: true}, {Name: "web", Enabled: true}}},
		Unrendered: []*render.Error{{Component: "web"}},
	}
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	done := func(name string) rollout.ComponentState {
		return rollout.ComponentState{Name: name, Status: rollout.Done, StartedAt: noon}
	}
	end := noon.Add(time.Minute)
	outcome := executor.Outcome{
		State:       rollout.State{Components: []rollout.ComponentState{done("db"), done("web")}},
		Transitions: []rollout.Transition{{At: end, Component: "db", To: rollout.Done}, {At: end, Component: "web", To: rollout.Done}},
	}
	want := []report.RolloutComponent{
		{Name: "db", State: "healthy", StartedAt: report.Time(noon), HealthyAt: report.Time(end), BlockedBy: []report.Blocker{}},
		{Name: "web", State: "unrendered", StartedAt: report.Time(noon), EndedAt: report.Time(end), BlockedBy: []report.Blocker{}},
	}
	for i, got := range Report(loaded, &plan.Plan{}, outcome, Conditions{Speed: 1}).Components {
		want[i].Phase, want[i].Type = got.Phase, got.Type // are not what is asked
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("got %+v, want %+v", got, want[i])
		}
	}
}
