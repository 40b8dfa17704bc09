package lint

import (
	"fmt"

	"github.com/rollout-ladder/ladder/internal/dependency"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/plan"
)

const ruleDeadlock = "gate-deadlock"

// gateDeadlock finds objects that a sync waits for and that become Healthy only
// through something that the same sync applies later.
func gateDeadlock(in Input) []finding.Finding {
	var out []finding.Finding
	o := newOrder(in)
	assessed := assessments(in)
	for _, d := range in.Dependencies {
		if d.Rule == "" || tooWeak(d) {
			continue
		}
		if d.Rule == ruleDeadlock && !d.Within() {
			if f, ok := o.useAcross(d); ok {
				out = append(out, f)
			}
			continue
		}
		waits := d.Within() && (d.Effect == dependency.Ready || d.Rule == ruleDeadlock)
		if _, enabled := o.byName[d.Consumer.Component]; !waits || !enabled {
			continue
		}
		if d.Consumer.Place.Compare(d.Provider.Place) >= 0 || !d.Consumer.Place.IsHook && !assessed.waits(d) {
			continue
		}
		f := fromDependency(d, finding.Within)
		f.Rule, f.Severity = ruleDeadlock, bySeverity(d.Strength)
		after := when(d.Provider.Place)
		if d.Consumer.Place.Hook < 1 && d.Provider.Place.Hook == 1 {
			after = "after all PreSync hooks" // the number of its wave would mislead
		}
		f.Message = fmt.Sprintf("%s (%s) %s, which comes later (%s): unless that is there from before, the sync waits for the first and never reaches the second",
			who(d.Consumer), when(d.Consumer.Place), d.Reason, after)
		f.Fix.Summary = fmt.Sprintf("give %s the wave of %s or a later one", who(d.Consumer), who(d.Provider))
		if d.Consumer.Place.Hook < d.Provider.Place.Hook && d.Consumer.Place.IsHook {
			f.Fix.Summary = fmt.Sprintf("make %s a hook of the phase of %s, in a later wave, or bring that into the earlier phase", who(d.Consumer), who(d.Provider))
		}
		if d.Holds {
			f.Message = fmt.Sprintf("%s (%s) %s: unless it is bound from before, the sync waits for it and does not reach %s (%s)",
				who(d.Consumer), when(d.Consumer.Place), d.Reason, who(d.Provider), after)
			f.Fix.Summary = "let a Sync hook that ends at once mount it, or bring it in the last wave"
		}
		out = append(out, f)
	}
	return out
}

// assessment says who assesses the health of objects: see Object.Health.
type assessment map[dependency.End]string

func assessments(in Input) assessment {
	known := assessment{}
	for _, o := range in.Objects {
		known[dependency.End{Component: o.Component, Object: o.Resource}] = o.Health
	}
	return known
}

// waits reports whether a sync waits for the consumer until it has what it needs:
// its health is assessed, and hangs on that. What is not among the objects (a
// hand-made dependency) counts as waited for. A custom resource is Ready without
// what it needs softly; pods may need it, as those of a private image their pull
// secret.
func (a assessment) waits(d dependency.Dependency) bool {
	health, known := a[dependency.End{Component: d.Consumer.Component, Object: d.Consumer.Object}]
	if known && health == "" {
		return false
	}
	return d.Strength == plan.Hard || d.Holds || d.Rule == ruleDeadlock || !known || health == "workload"
}
