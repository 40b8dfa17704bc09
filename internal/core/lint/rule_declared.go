package lint

import (
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

const ruleDeclared = "declared-edge-against-order"

// declaredAgainstOrder finds declared requirements that the order does not keep.
// Those of bootstraps and secret stores have rules that say more of them.
func declaredAgainstOrder(in Input) []finding.Finding {
	var out []finding.Finding
	o := newOrder(in)
	if o.flux != nil {
		return nil // what is declared is the order
	}
	stores := o.stores(in)
	for _, e := range o.steps {
		if e.Basis != finding.Declared {
			continue
		}
		consumer, provider := o.ends(e)
		if bootstraps(consumer, provider) || stores.waits(consumer, provider) {
			continue
		}
		f := fromEdge(e.Edge, ruleDeclared)
		verb := "requires"
		if len(e.Evidence) > 0 && e.Reason == "validates" {
			verb = "validates"
		}
		switch rank := o.compare(consumer, provider); {
		case rank < 0:
			f.Severity = bySeverity(e.Strength)
			f.Message = fmt.Sprintf("%s (%s) %s %s, which comes later (%s)", e.From, o.place(consumer), verb, e.To, o.place(provider))
			doubt(&f, consumer, provider)
		case rank == 0 && o.any && !consumer.PreArgo && o.has(consumer) && o.has(provider):
			f.Severity = finding.Warning
			f.Message = fmt.Sprintf("%s %s %s, and nothing orders the two (%s, %s)", e.From, verb, e.To, o.place(consumer), o.place(provider))
		default:
			continue
		}
		f.Evidence = append(f.Evidence, o.placed(consumer), o.placed(provider))
		f.Fix.Order = o.after(consumer, provider)
		f.Fix.Summary = f.Fix.Order
		out = append(out, f)
	}
	return out
}

// fromEdge makes a finding without severity and message; it stands where the
// first evidence of the edge is.
func fromEdge(e *plan.Edge, rule string) finding.Finding {
	f := finding.Finding{
		Rule: rule, Scope: finding.Cross, Component: e.From, Provider: e.To,
		Basis: e.Basis, Evidence: slices.Clone(e.Evidence),
	}
	if len(e.Evidence) > 0 {
		f.Position = finding.Position{File: e.Evidence[0].File, Line: e.Evidence[0].Line}
	}
	return f
}
