package lint

import (
	"fmt"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

const ruleDeadlock = "gate-deadlock"

// gateDeadlock finds objects that a sync waits for and that become Healthy only
// through something that the same sync applies later.
func gateDeadlock(in Input) []finding.Finding {
	var out []finding.Finding
	o := newOrder(in)
	for _, l := range o.byRule[ruleDeadlock] {
		if l.within || l.weak {
			continue
		}
		if f, ok := o.useAcross(l); ok {
			out = append(out, f)
		}
	}
	for _, l := range o.inside {
		if l.weak || l.Rule == "" || l.consumer == nil || l.Effect != dependency.Ready && l.Rule != ruleDeadlock {
			continue
		}
		if l.Consumer.Place.Compare(l.Provider.Place) >= 0 || !l.Consumer.Place.IsHook && !o.assessed().waits(l) || o.assessed().unassessed(l.Consumer) {
			continue
		}
		f := fromDependency(l, finding.Within)
		f.Rule, f.Severity = ruleDeadlock, bySeverity(l.Strength)
		after := when(l.Provider.Place)
		if l.Consumer.Place.Hook < 1 && l.Provider.Place.Hook == 1 {
			after = "after all PreSync hooks" // the number of its wave would mislead
		}
		f.Message = fmt.Sprintf("%s (%s) %s, which comes later (%s): unless that is there from before, the sync waits for the first and never reaches the second",
			who(l.Consumer), when(l.Consumer.Place), l.Reason, after)
		f.Fix.Summary = fmt.Sprintf("give %s the wave of %s or a later one", who(l.Consumer), who(l.Provider))
		if l.Consumer.Place.Hook < l.Provider.Place.Hook && l.Consumer.Place.IsHook {
			f.Fix.Summary = fmt.Sprintf("make %s a hook of the phase of %s, in a later wave, or bring that into the earlier phase", who(l.Consumer), who(l.Provider))
		}
		if !l.Consumer.Place.IsHook && l.Provider.Place.Hook > 1 {
			f.Fix.Summary = fmt.Sprintf("take the hook off %s, or make it one of an earlier phase: no wave of %s comes after it", who(l.Provider), who(l.Consumer))
		}
		if l.Holds {
			f.Message = fmt.Sprintf("%s (%s) %s: unless it is bound from before, the sync waits for it and does not reach %s (%s)",
				who(l.Consumer), when(l.Consumer.Place), l.Reason, who(l.Provider), after)
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
	for i := range in.Objects {
		o := &in.Objects[i]
		known[dependency.End{Component: o.Component, Object: o.Resource}] = o.Health
	}
	return known
}

// unassessed reports whether nobody assesses the health of an object, which a sync then does
// not wait for, hook or not. Source: gitops-engine, pkg/sync, getOperationPhase.
func (a assessment) unassessed(e dependency.End) bool {
	health, known := a[dependency.End{Component: e.Component, Object: e.Object}]
	return known && health == ""
}

// waits reports whether a sync waits for the consumer until it has what it needs:
// its health is assessed, and hangs on that. What is not among the objects (a
// hand-made dependency) counts as waited for. A custom resource is Ready without
// what it needs softly; pods may need it, as those of a private image their pull
// secret.
func (a assessment) waits(l link) bool {
	if a.unassessed(l.Consumer) {
		return false
	}
	health, known := a[dependency.End{Component: l.Consumer.Component, Object: l.Consumer.Object}]
	return l.Strength == plan.Hard || l.Holds || l.Rule == ruleDeadlock || !known || health == "workload"
}
