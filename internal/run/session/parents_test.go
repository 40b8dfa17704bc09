package session

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo"
)

// TestParentsAtOnce: only an object that stands behind the Application that it needs,
// while its parent begins before that, is told of.
func TestParentsAtOnce(t *testing.T) {
	need := func(consumer string, wave int, provider string, strength plan.Strength) dependency.Dependency {
		return dependency.Dependency{
			Strength: strength, Reason: "is of kind Widget",
			Consumer: dependency.End{Component: consumer, Object: finding.Resource{Kind: "Widget", Name: "w"}, Place: dependency.Place{Hook: 1, Wave: wave}},
			Provider: dependency.End{Component: provider},
		}
	}
	loaded := func(d ...dependency.Dependency) *analysis.Result {
		return &analysis.Result{Dependencies: d, Platform: &repo.Platform{Components: []model.Component{
			{Name: "parent", Enabled: true, AppOfApps: true, Waves: []int{-10}, Parents: []string{"parent"}},
			{Name: "early", Enabled: true, Waves: []int{-20}, Parents: []string{"parent"}},
			{Name: "operator", Enabled: true, Waves: []int{0}, Parents: []string{"parent"}},
			{Name: "app", Enabled: true, Waves: []int{5}, Parents: []string{"parent"}},
		}}}
	}
	for name, c := range map[string]struct {
		loaded *analysis.Result
		told   int
	}{
		"behind what it needs":         {loaded(need("parent", 5, "operator", plan.Hard)), 1},
		"once for each parent":         {loaded(need("parent", 5, "operator", plan.Hard), need("parent", 7, "app", plan.Hard)), 1},
		"the first object of all":      {loaded(need("parent", -10, "operator", plan.Hard)), 0},
		"what it needs is there first": {loaded(need("parent", 5, "early", plan.Hard)), 0},
		"it comes up without":          {loaded(need("parent", 5, "operator", plan.Soft)), 0},
		"no parent":                    {loaded(need("app", 7, "operator", plan.Hard)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if found := ParentsAtOnce(c.loaded); len(found) != c.told || c.told > 0 && (found[0].Component != "parent" || found[0].Provider != "operator") {
				t.Errorf("found %v", found)
			}
		})
	}
}
