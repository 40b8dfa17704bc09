package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Acceptance is a difference between environments that is meant, and why.
type Acceptance struct {
	// Component is empty for every component, Environments for any.
	Component    string
	Environments []string
	Reason       string
	Position     finding.Position
}

// accepts reports whether a difference of a component is meant. aside and other
// are the environments on its two sides; naming all of either is enough.
func (a Acceptance) accepts(name string, aside, other []string) bool {
	within := func(names []string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(a.Environments, n) })
	}
	return (a.Component == "" || a.Component == name) && (len(a.Environments) == 0 || within(aside) || within(other))
}

// Parity compares the environments of a platform, which are overlays of the same
// components. It returns the differences that nothing explains, those that are
// accepted, and the acceptances that accept none.
//
// What Flux applies and what Argo CD applies are parts of one platform, no overlays of
// each other.
func Parity(environments []Input, accepted []Acceptance) (found []finding.Finding, hidden []Suppressed, unused []Acceptance) {
	var ofFlux, others []Input
	for _, in := range environments {
		if in.Flux != nil {
			ofFlux = append(ofFlux, in)
		} else {
			others = append(others, in)
		}
	}
	if len(ofFlux) > 0 && len(others) > 0 {
		found, hidden, unused = Parity(others, accepted)
		more, accounted, open := Parity(ofFlux, accepted)
		found, hidden = append(found, more...), append(hidden, accounted...)
		finding.Sort(found)
		unused = slices.DeleteFunc(unused, func(a Acceptance) bool {
			return !slices.ContainsFunc(open, func(o Acceptance) bool { return o.Position == a.Position })
		})
		return found, hidden, unused
	}
	p := parity{used: make([]bool, len(accepted)), accepted: accepted, absent: map[string][]int{}, gathered: !slices.ContainsFunc(environments, func(in Input) bool { return in.Ladder.Layout != plan.AppOfApps })}
	p.gather(environments)
	for i := range p.rows {
		p.presence(p.rows[i])
		p.place(p.rows[i])
	}
	p.edges(environments)
	for i, a := range accepted {
		if !p.used[i] {
			unused = append(unused, a)
		}
	}
	if len(ofFlux) > 0 {
		// Clusters that one repository feeds need not be overlays of one platform.
		for i := range p.found {
			p.found[i].Severity = finding.Info
		}
	}
	if p.gathered || len(ofFlux) > 0 {
		p.join()
	}
	var components []model.Component
	for _, e := range environments {
		components = append(components, e.Components...)
	}
	weaken(components, p.found)
	finding.Sort(p.found)
	return p.found, p.hidden, unused
}

type parity struct {
	names []string // of the environments, in their order
	// rows are the components, sorted by name, and number their places by name,
	// counted from 1.
	rows     []row
	number   map[string]int
	accepted []Acceptance
	used     []bool
	found    []finding.Finding
	hidden   []Suppressed
	// gathered is set where the environments are what somebody's Applications make of them:
	// clusters that one repository feeds need not have the same components.
	gathered bool
	// absent are the numbers of the findings on what is in some environments and missing in others, by
	// the names of both.
	absent map[string][]int
}

// row is a component in all environments, in their order.
type row struct {
	name string
	in   []member
}

// member is a component in one environment, nil where it is missing.
type member struct {
	*model.Component
	seen bool // it was rendered, or needs no rendering
}

// runs reports whether a component is rolled out, and was looked into.
func (m member) runs() bool { return m.Component != nil && m.Enabled && m.seen }

// gather makes the rows.
func (p *parity) gather(environments []Input) {
	p.number = map[string]int{}
	var names []string
	for _, in := range environments {
		p.names = append(p.names, in.Environment)
		for i := range in.Components {
			name := in.Components[i].Name
			if _, seen := p.number[name]; !seen {
				p.number[name] = 0
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	p.rows = make([]row, len(names))
	all := make([]member, len(names)*len(environments))
	for i, name := range names {
		p.number[name] = i + 1
		p.rows[i], all = row{name, all[:len(environments):len(environments)]}, all[len(environments):]
	}
	for e, in := range environments {
		blind := map[string]bool{}
		for _, name := range in.Unrendered {
			blind[name] = true
		}
		for i := range in.Components {
			c := &in.Components[i]
			p.rows[p.number[c.Name]-1].in[e] = member{c, !blind[c.Name]}
		}
	}
}

// add keeps a difference, or hides it where it is accepted.
func (p *parity) add(f finding.Finding, aside, other []string) {
	f.Rule, f.Scope, f.Basis = RuleParity, finding.Rule, cmp.Or(f.Basis, finding.Declared)
	hider := -1
	for i, a := range p.accepted {
		if a.accepts(f.Component, aside, other) {
			p.used[i] = true
			if hider < 0 {
				hider = i
			}
		}
	}
	if hider < 0 {
		p.found = append(p.found, f)
		return
	}
	a := p.accepted[hider]
	p.hidden = append(p.hidden, Suppressed{Finding: f, By: Suppression{Rule: RuleParity, Reason: a.Reason, Component: a.Component, Position: a.Position}})
}

// presence reports a component that is not in every environment. One that is
// written down as disabled is only worth a note.
func (p *parity) presence(r row) {
	missing := func(m member) bool { return m.Component == nil }
	disabledIn := func(m member) bool { return m.Component != nil && !m.Enabled }
	if !slices.ContainsFunc(r.in, missing) && !slices.ContainsFunc(r.in, disabledIn) {
		return
	}
	name := r.name
	var has, lacks, disabled []string
	var hasAt, disabledAt []finding.Evidence
	for i, e := range p.names {
		switch m := r.in[i]; {
		case missing(m):
			lacks = append(lacks, e)
		case !m.Enabled:
			disabled = append(disabled, e)
			disabledAt = append(disabledAt, where(m.At("enabled"), "%s is disabled in %s", name, e))
		default:
			has = append(has, e)
			hasAt = append(hasAt, where(m.Position, "%s has %s", e, name))
		}
	}
	if len(has) == 0 {
		return
	}
	f := finding.Finding{
		Severity: finding.Warning, Environment: has[0], Component: name,
		Position: finding.Position{File: hasAt[0].File, Line: hasAt[0].Line}, Evidence: slices.Concat(hasAt, disabledAt),
		Fix: finding.Fix{Summary: fmt.Sprintf("add it to %s, or accept the difference with a reason under parity.accept in ladder.yaml", listed(lacks))},
	}
	switch {
	case len(lacks) == 0:
		f.Severity = finding.Info
		f.Message = fmt.Sprintf("%s is rolled out in %s and disabled in %s", name, listed(has), listed(disabled))
		f.Fix.Summary = fmt.Sprintf("enable it in %s, or accept the difference with a reason under parity.accept in ladder.yaml", listed(disabled))
	case len(disabled) > 0:
		f.Message = fmt.Sprintf("%s is rolled out in %s, missing in %s and disabled in %s", name, listed(has), listed(lacks), listed(disabled))
	default:
		f.Message = fmt.Sprintf("%s is in %s and missing in %s", name, listed(has), listed(lacks))
	}
	if p.gathered {
		f.Severity = finding.Info
	}
	before := len(p.found)
	p.add(f, slices.Concat(lacks, disabled), has)
	if len(p.found) > before && len(disabled) == 0 {
		key := listed(has) + "\x00" + listed(lacks)
		p.absent[key] = append(p.absent[key], before)
	}
}

// join makes one finding of all that is in the same environments and missing in the same others:
// it has one cause, the roles of the clusters.
func (p *parity) join() {
	gone := map[int]bool{}
	for _, key := range slices.Sorted(maps.Keys(p.absent)) {
		all := p.absent[key]
		if len(all) < 2 {
			continue
		}
		has, lacks, _ := strings.Cut(key, "\x00")
		first := &p.found[all[0]]
		var names []string
		for i, n := range all {
			names = append(names, p.found[n].Component)
			if gone[n] = i > 0; i > 0 && i < named {
				first.Evidence = append(first.Evidence, p.found[n].Evidence...)
			}
		}
		first.Message = fmt.Sprintf("%s are in %s and missing in %s", listed(atMost(names, 2*named)), has, lacks)
		first.Fix.Summary = fmt.Sprintf("add them to %s, or accept the difference with a reason under parity.accept in ladder.yaml", lacks)
	}
	kept := p.found[:0]
	for i, f := range p.found {
		if !gone[i] {
			kept = append(kept, f)
		}
	}
	p.found = kept
}

// atMost is the beginning of a list of names, and how many more there are.
func atMost(names []string, n int) []string {
	if len(names) <= n {
		return names
	}
	return append(slices.Clone(names[:n]), fmt.Sprintf("%d more", len(names)-n))
}

// place reports a component that stands in another place in some environments.
// The place of most environments is the one that the others differ from; where
// none has most, that of the first.
func (p *parity) place(r row) {
	type place struct {
		name  string
		index []int // of the environments
	}
	var places []place
	for i, m := range r.in {
		if m.Component == nil {
			continue
		}
		at := m.Order()
		k := slices.IndexFunc(places, func(p place) bool { return p.name == at })
		if k < 0 {
			k = len(places)
			places = append(places, place{name: at})
		}
		places[k].index = append(places[k].index, i)
	}
	if len(places) < 2 {
		return
	}
	slices.SortStableFunc(places, func(a, b place) int { return len(b.index) - len(a.index) })
	var usual, others []string
	var parts []string
	f := finding.Finding{Severity: finding.Warning, Component: r.name}
	for k, at := range places {
		var names []string
		for _, i := range at.index {
			names = append(names, p.names[i])
			f.Evidence = append(f.Evidence, where(r.in[i].At("rolloutPhase"), "%s stands at %s in %s", r.name, cmp.Or(at.name, "no place"), p.names[i]))
		}
		parts = append(parts, fmt.Sprintf("at %s in %s", cmp.Or(at.name, "no place"), listed(names)))
		if k == 0 {
			usual = names
			continue
		}
		others = append(others, names...)
	}
	f.Environment, f.Position = others[0], r.in[places[1].index[0]].At("rolloutPhase")
	f.Message = fmt.Sprintf("%s stands %s", r.name, strings.Join(parts, " and "))
	f.Fix.Summary = "give it one place, or accept the difference with a reason under parity.accept in ladder.yaml"
	p.add(f, others, usual)
}

// held is an edge that some environments have.
type held struct {
	from, to int
	first    *plan.Edge // that of the first environment where it is no inherited one
	in       []bool     // by environment
}

// holds packs an edge and one environment that has it; these sort by the names of
// the components, then by environment. There are fewer than 2^24 components and
// 2^16 environments.
type holds uint64

func newHolds(from, to, environment int) holds {
	return holds(from)<<40 | holds(to)<<16 | holds(environment)
}

func (h holds) edge() holds      { return h >> 16 }
func (h holds) from() int        { return int(h >> 40) }
func (h holds) to() int          { return int(h >> 16 & (1<<24 - 1)) }
func (h holds) environment() int { return int(h & (1<<16 - 1)) }

// partial finds the edges that some environments have and others lack, sorted by
// the names of their ends.
func (p *parity) partial(environments []Input) []*held {
	eachEdge := func(visit func(h holds, e *plan.Edge)) {
		number := remembering(p.number)
		var ends []struct{ from, to int } // of the edges of the first environment
		for n, in := range environments {
			for i := range in.Edges {
				e := &in.Edges[i]
				var from, to int
				// Most environments have most edges at the same places.
				if n > 0 && i < len(ends) && e.To == environments[0].Edges[i].To && e.From == environments[0].Edges[i].From {
					from, to = ends[i].from, ends[i].to
				} else {
					from, to = number(e.From), p.number[e.To]
				}
				if n == 0 {
					ends = append(ends, struct{ from, to int }{from, to})
				}
				if from > 0 && to > 0 && (e.Basis == finding.Declared || e.Strength == plan.Hard) {
					visit(newHolds(from-1, to-1, n), e)
				}
			}
		}
	}
	n := 0
	for _, in := range environments {
		n += len(in.Edges)
	}
	all := make([]holds, 0, n)
	eachEdge(func(h holds, _ *plan.Edge) { all = append(all, h) })
	slices.Sort(all)
	all = slices.Compact(all)
	var some []*held
	byEdge := map[holds]*held{}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].edge() == all[0].edge() {
			n++
		}
		if n < len(environments) {
			h := &held{from: all[0].from(), to: all[0].to(), in: make([]bool, len(environments))}
			for _, one := range all[:n] {
				h.in[one.environment()] = true
			}
			byEdge[all[0].edge()] = h
			some = append(some, h)
		}
		all = all[n:]
	}
	if len(some) > 0 {
		eachEdge(func(h holds, e *plan.Edge) {
			if known := byEdge[h.edge()]; known != nil && known.first == nil && !e.Inherited {
				known.first = e
			}
		})
	}
	// An edge that is inherited wherever it is follows from a difference that is told of another component.
	return slices.DeleteFunc(some, func(h *held) bool { return h.first == nil })
}

// edges reports what a component requires in some environments only, though both
// ends of the edge are rolled out, and were rendered, in the others as well.
func (p *parity) edges(environments []Input) {
	// A value that differs brings several edges: they are one difference.
	differences := map[string]*difference{}
	var order []*difference
	for _, k := range p.partial(environments) {
		d := difference{from: p.rows[k.from].name, verb: "requires"}
		for i, e := range p.names {
			from, to := p.rows[k.from].in[i], p.rows[k.to].in[i]
			switch {
			case k.in[i]:
				d.with = append(d.with, e)
			case from.runs() && to.runs():
				if len(d.without) == 0 {
					d.position = from.Position
				}
				d.without = append(d.without, e)
			}
		}
		if len(d.without) == 0 {
			continue
		}
		if k.first.Basis == finding.Declared && k.first.Reason == "validates" {
			d.verb = "validates"
		}
		known := differences[d.key()]
		if known == nil {
			known = &d
			differences[d.key()] = known
			order = append(order, known)
		}
		known.to, known.edges = append(known.to, p.rows[k.to].name), append(known.edges, *k.first)
	}
	for _, d := range order {
		p.add(d.finding(), d.without, d.with)
	}
}

// difference is what a component requires in some environments only.
type difference struct {
	from, verb    string
	to            []string
	with, without []string
	position      finding.Position // in the first environment without
	edges         []plan.Edge
}

func (d difference) key() string {
	return strings.Join([]string{d.from, d.verb, strings.Join(d.with, ","), strings.Join(d.without, ",")}, "\x00")
}

func (d difference) finding() finding.Finding {
	f := finding.Finding{
		Severity: finding.Warning, Environment: d.without[0], Component: d.from, Basis: d.edges[0].Basis,
		Position: d.position,
		Message:  fmt.Sprintf("%s %s %s in %s and not in %s", d.from, d.verb, listed(d.to), listed(d.with), listed(d.without)),
		Fix:      finding.Fix{Summary: "require it everywhere, or accept the difference with a reason under parity.accept in ladder.yaml"},
	}
	if len(d.to) == 1 {
		f.Provider = d.to[0]
	}
	for _, e := range d.edges {
		f.Evidence = append(f.Evidence, e.Evidence...)
	}
	return f
}

func where(at finding.Position, format string, args ...any) finding.Evidence {
	return finding.Evidence{Text: fmt.Sprintf(format, args...), File: at.File, Line: at.Line}
}

// listed prints "a", "a and b", "a, b and c".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
