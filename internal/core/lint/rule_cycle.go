package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// RuleCycle is the rule of components that require each other.
const RuleCycle = "cycle"

// cycles names every cycle of hard edges whole.
func cycles(in Input) []finding.Finding {
	o := newOrder(in)
	if o.flux != nil {
		return o.fluxCycles()
	}
	closing, circling := o.closing()
	found := closing.Cycles()
	passed := slices.DeleteFunc(circling.Cycles(), func(cycle []int) bool { return closes(closing, cycle) })
	if len(found)+len(passed) == 0 {
		return nil
	}
	between := map[dag.Edge][]*plan.Edge{} // the steps of the cycles
	for _, cycle := range slices.Concat(found, passed) {
		for i, to := range cycle[1:] {
			between[dag.Edge{From: cycle[i], To: to}] = nil
		}
	}
	for _, e := range o.steps {
		key := dag.Edge{From: e.from, To: e.to}
		if edges, on := between[key]; on && e.Strength == plan.Hard {
			between[key] = append(edges, e.Edge)
		}
	}
	var out []finding.Finding
	var tangled tangles
	handed := in.handedSteps(between, o)
	for _, cycle := range found {
		f := o.cycle(cycle, between)
		openedBy(&f, cycle, handed)
		if f.Severity == finding.Error {
			out = append(out, f)
			continue
		}
		tangled.add(cycle, f)
	}
	out = append(out, tangled.findings()...)
	var harmless tangles
	for _, cycle := range passed {
		harmless.add(cycle, passing(o.cycle(cycle, between)))
	}
	return append(out, harmless.findings()...)
}

// handedSteps are the steps of cycles whose requirements people are told to apply by hand
// before everything else, with one such instruction.
func (in Input) handedSteps(between map[dag.Edge][]*plan.Edge, o *order) map[dag.Edge]finding.Evidence {
	handed := map[dag.Edge]finding.Evidence{}
	if in.ByHand == nil {
		return handed
	}
	number := map[string]int{}
	for i, c := range o.enabled {
		number[c.Name] = i
	}
	needs := map[dag.Edge][]finding.Resource{}
	for i := range in.Dependencies {
		d := &in.Dependencies[i]
		from, enabled := number[d.Consumer.Component]
		to, both := number[d.Provider.Component]
		if !enabled || !both {
			continue
		}
		key := dag.Edge{From: from, To: to}
		// A controller brings to Ready later what its CRD lets in.
		if _, on := between[key]; on && d.Strength == plan.Hard && d.Rule != ruleController {
			needs[key] = append(needs[key], d.Required)
		}
	}
	for key, required := range needs {
		var first finding.Evidence
		if !slices.ContainsFunc(between[key], func(e *plan.Edge) bool { return e.Basis == finding.Declared }) && !slices.ContainsFunc(required, func(r finding.Resource) bool {
			told, ok := in.ByHand(r)
			first = told
			return !ok
		}) {
			handed[key] = first
		}
	}
	return handed
}

// openedBy makes the finding of a cycle milder where one of its steps may be there before.
func openedBy(f *finding.Finding, cycle []int, handed map[dag.Edge]finding.Evidence) {
	for i, to := range cycle[1:] {
		if told, ok := handed[dag.Edge{From: cycle[i], To: to}]; ok {
			f.Severity = finding.Info
			f.Message += fmt.Sprintf("; %s has what one of them requires applied by hand, so that it may be there before", told.File)
			f.Evidence = append(f.Evidence, told)
			return
		}
	}
}

// closes reports whether all steps of a cycle can close one.
func closes(closing *dag.Graph, cycle []int) bool {
	for i, to := range cycle[1:] {
		if _, found := slices.BinarySearch(closing.Requires(cycle[i]), int32(to)); !found {
			return false
		}
	}
	return true
}

// passing makes the finding of a cycle of components whose objects require each other in
// none the information that it is.
func passing(f finding.Finding) finding.Finding {
	chain, _, _ := strings.Cut(f.Message, ":")
	f.Severity = finding.Info
	f.Message = chain + ": each becomes Healthy only after the next, but their objects require each other in no circle, so that all do as long as none of them waits for another to be Healthy"
	f.Fix.Summary = "put no sync wave and no step between them, or split a component so that what the others need comes first"
	return f
}

// tangle is a set of cycles that hang together: they share components.
type tangle struct {
	members map[int]bool
	cycles  [][]int
	found   []finding.Finding
}

// tangles are the cycles that only warn. Where one component is a hub of many
// (what routes to every namespace and is required in return), each of its cycles
// says the same again: one finding stands for all that hang together.
type tangles []tangle

func (t *tangles) add(cycle []int, f finding.Finding) {
	joined := tangle{members: map[int]bool{}}
	apart := func(other tangle) bool {
		return !slices.ContainsFunc(cycle, func(n int) bool { return other.members[n] })
	}
	for _, other := range *t {
		if apart(other) {
			continue
		}
		for n := range other.members {
			joined.members[n] = true
		}
		joined.cycles, joined.found = append(joined.cycles, other.cycles...), append(joined.found, other.found...)
	}
	for _, n := range cycle {
		joined.members[n] = true
	}
	joined.cycles, joined.found = append(joined.cycles, cycle), append(joined.found, f)
	*t = append(slices.DeleteFunc(*t, func(other tangle) bool { return !apart(other) }), joined)
}

// findings makes one finding of each tangle: its shortest cycle, before those that
// something by hand may open, and what the others are.
func (t tangles) findings() []finding.Finding {
	var out []finding.Finding
	for _, one := range t {
		least := 0
		for i, cycle := range one.cycles {
			if milder := one.found[i].Severity == finding.Info; milder != (one.found[least].Severity == finding.Info) {
				if !milder {
					least = i
				}
				continue
			}
			if c := cmp.Compare(len(cycle), len(one.cycles[least])); c < 0 || c == 0 && slices.Compare(cycle, one.cycles[least]) < 0 {
				least = i
			}
		}
		f := one.found[least]
		if others := len(one.found) - 1; others > 0 {
			f.Message += fmt.Sprintf("; %d more circles go through them", others)
			if others == 1 {
				f.Message = strings.TrimSuffix(f.Message, "1 more circles go through them") + "1 more circle goes through them"
			}
			for i, other := range one.found {
				if i != least {
					chain, _, _ := strings.Cut(other.Message, ":")
					f.Evidence = append(f.Evidence, where(other.Position, "%s", chain))
				}
			}
		}
		out = append(out, f)
	}
	return out
}

// cycle is the finding of one cycle, which begins and ends with its least
// component. Where nothing orders its members and none is declared, Argo CD may
// come through it by retrying.
func (o *order) cycle(cycle []int, between map[dag.Edge][]*plan.Edge) finding.Finding {
	f := finding.Finding{
		Rule: RuleCycle, Severity: finding.Warning, Scope: finding.Cross, Basis: finding.Declared,
		Component: o.enabled[cycle[0]].Name, Provider: o.enabled[cycle[1]].Name,
	}
	chain := make([]string, len(cycle))
	for i, n := range cycle {
		chain[i] = o.enabled[n].Name
	}
	f.Evidence = make([]finding.Evidence, 0, len(cycle))
	parted := false
	for i := range len(cycle) - 1 {
		edges := between[dag.Edge{From: cycle[i], To: cycle[i+1]}]
		slices.SortStableFunc(edges, func(a, b *plan.Edge) int {
			return cmp.Or(strings.Compare(string(a.Basis), string(b.Basis)), strings.Compare(a.Reason, b.Reason))
		})
		for _, e := range edges {
			f.Evidence = append(f.Evidence, o.stated(e))
			if e.Basis != finding.Declared {
				f.Basis = e.Basis
			} else {
				f.Severity = finding.Error
			}
		}
		a, b := o.enabled[cycle[i]], o.enabled[cycle[i+1]]
		if _, assumed := assumedOrder(a, b); !assumed && o.parted(a, b) {
			f.Severity, parted = finding.Error, true
		}
	}
	first := o.enabled[cycle[0]]
	f.Position = first.Position
	if len(f.Evidence) > 0 && f.Evidence[0].File != "" {
		f.Position = finding.Position{File: f.Evidence[0].File, Line: f.Evidence[0].Line}
	}
	f.Message = fmt.Sprintf("%s: each requires the next, so that none can be first", strings.Join(chain, " -> "))
	if parted && f.Basis != finding.Declared {
		f.Message = fmt.Sprintf("%s: each requires the next, and the order between them has one wait for the other to be Healthy, so that none can be first", strings.Join(chain, " -> "))
	}
	f.Fix.Summary = "drop one of the requirements, or split a component so that what the others need comes first"
	return f
}

// stated sums an edge up in one fact.
func (o *order) stated(e *plan.Edge) finding.Evidence {
	text := e.From + " -> " + e.To + ": " + e.Reason
	if len(e.Evidence) == 0 {
		at := o.byName[e.From].Position
		return finding.Evidence{Text: text, File: at.File, Line: at.Line}
	}
	first := e.Evidence[0]
	first.Text = text
	return first
}
