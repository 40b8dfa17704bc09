package diff

import (
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// times compares the expected courses.
func times(from, to Side) TimeChange {
	return TimeChange{
		Makespan: seconds(from.Plan.Makespan, to.Plan.Makespan),
		Bound:    seconds(from.Plan.Bound, to.Plan.Bound),
		CriticalPath: CriticalPaths{
			From: path(from.Plan), To: path(to.Plan),
			Delta: (to.Plan.CriticalPath.Duration - from.Plan.CriticalPath.Duration).Seconds(),
		},
	}
}

func seconds(from, to time.Duration) Seconds {
	return Seconds{From: from.Seconds(), To: to.Seconds(), Delta: (to - from).Seconds()}
}

func path(p *plan.Plan) report.PlanPath {
	return report.PlanPath{Components: list(p.CriticalPath.Components), Seconds: p.CriticalPath.Duration.Seconds()}
}

// radii compares what the failure of a component stops, for components that are
// planned on both sides.
func radii(from, to Side) []RadiusChange {
	out := []RadiusChange{}
	before := planned(from)
	for _, name := range slices.Sorted(slices.Values(to.Plan.Order)) {
		if _, ok := before[name]; !ok {
			continue
		}
		x, y := from.Plan.BlastRadius(name), to.Plan.BlastRadius(name)
		if slices.Equal(x, y) {
			continue
		}
		change := onlyOne(x, y, compareText)
		out = append(out, RadiusChange{Component: name, From: len(x), To: len(y), Added: change.Added, Removed: change.Removed})
	}
	return out
}

// steps compares the steps by their labels.
func steps(from, to Side) StepChange {
	labels := func(p *plan.Plan) (names []string, by map[string]plan.Step) {
		by = map[string]plan.Step{}
		for _, s := range p.Steps {
			if _, ok := by[s.Label]; !ok {
				names = append(names, s.Label)
				by[s.Label] = s
			}
		}
		return names, by
	}
	a, before := labels(from.Plan)
	b, after := labels(to.Plan)
	change := onlyOne(a, b, compareText)
	out := StepChange{Added: change.Added, Removed: change.Removed, Changed: []Step{}}
	slices.Sort(b)
	for _, label := range b {
		old, ok := before[label]
		if !ok {
			continue
		}
		view := func(s plan.Step) map[string]any {
			return map[string]any{"maxUpdate": s.MaxUpdate, "gate": s.Gate, "set": s.Set}
		}
		if fields := diff(view(old), view(after[label])); len(fields) > 0 {
			out.Changed = append(out.Changed, Step{Label: label, Fields: fields})
		}
	}
	return out
}
