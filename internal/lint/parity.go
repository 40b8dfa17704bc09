package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/plan"
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
func Parity(environments []Input, accepted []Acceptance) (found []finding.Finding, hidden []Suppressed, unused []Acceptance) {
	p := parity{used: make([]bool, len(accepted)), accepted: accepted}
	byName := map[string]map[string]member{}
	for _, in := range environments {
		p.names = append(p.names, in.Environment)
		blind := map[string]bool{}
		for _, name := range in.Unrendered {
			blind[name] = true
		}
		for _, c := range in.Components {
			if byName[c.Name] == nil {
				byName[c.Name] = map[string]member{}
			}
			byName[c.Name][in.Environment] = member{c, !blind[c.Name]}
		}
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p.presence(name, byName[name])
		p.place(name, byName[name])
	}
	p.edges(environments, byName)
	for i, a := range accepted {
		if !p.used[i] {
			unused = append(unused, a)
		}
	}
	finding.Sort(p.found)
	return p.found, p.hidden, unused
}

type parity struct {
	names    []string // of the environments, in their order
	accepted []Acceptance
	used     []bool
	found    []finding.Finding
	hidden   []Suppressed
}

// member is a component in one environment.
type member struct {
	component.Component
	seen bool // it was rendered, or needs no rendering
}

// written is where a field of the component is written.
func (m member) written(field string) finding.Position { return m.At(field) }

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
func (p *parity) presence(name string, in map[string]member) {
	var has, lacks, disabled []string
	for _, e := range p.names {
		switch m, ok := in[e]; {
		case !ok:
			lacks = append(lacks, e)
		case !m.Enabled:
			disabled = append(disabled, e)
		default:
			has = append(has, e)
		}
	}
	if len(has) == 0 || len(lacks)+len(disabled) == 0 {
		return
	}
	f := finding.Finding{
		Severity: finding.Warning, Environment: has[0], Component: name, Position: in[has[0]].Position,
		Evidence: []finding.Evidence{},
		Fix:      finding.Fix{Summary: fmt.Sprintf("add it to %s, or accept the difference with a reason under parity.accept in ladder.yaml", listed(lacks))},
	}
	for _, e := range has {
		f.Evidence = append(f.Evidence, where(in[e].Position, "%s has %s", e, name))
	}
	for _, e := range disabled {
		f.Evidence = append(f.Evidence, where(in[e].written("enabled"), "%s is disabled in %s", name, e))
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
	p.add(f, slices.Concat(lacks, disabled), has)
}

// place reports a component that stands in another place in some environments.
// The place of most environments is the one that the others differ from; where
// none has most, that of the first.
func (p *parity) place(name string, in map[string]member) {
	byPlace := map[string][]string{}
	var places []string
	for _, e := range p.names {
		m, ok := in[e]
		if !ok {
			continue
		}
		at := placeOf(m.Component)
		if byPlace[at] == nil {
			places = append(places, at)
		}
		byPlace[at] = append(byPlace[at], e)
	}
	if len(places) < 2 {
		return
	}
	slices.SortStableFunc(places, func(a, b string) int { return len(byPlace[b]) - len(byPlace[a]) })
	usual := byPlace[places[0]]
	var others []string
	var parts []string
	f := finding.Finding{Severity: finding.Warning, Component: name}
	for i, at := range places {
		parts = append(parts, fmt.Sprintf("at %s in %s", cmp.Or(at, "no place"), listed(byPlace[at])))
		if i > 0 {
			others = append(others, byPlace[at]...)
		}
		for _, e := range byPlace[at] {
			f.Evidence = append(f.Evidence, where(in[e].written("rolloutPhase"), "%s stands at %s in %s", name, cmp.Or(at, "no place"), e))
		}
	}
	f.Environment, f.Position = others[0], in[others[0]].written("rolloutPhase")
	f.Message = fmt.Sprintf("%s stands %s", name, strings.Join(parts, " and "))
	f.Fix.Summary = "give it one place, or accept the difference with a reason under parity.accept in ladder.yaml"
	p.add(f, others, usual)
}

// placeOf names the place of a component, "" for none.
func placeOf(c component.Component) string {
	if order := c.Order(); order != "" || c.Step == 0 {
		return order
	}
	return fmt.Sprintf("step %d", c.Step)
}

// pair is an edge between two components.
type pair struct{ from, to string }

// held is an edge with the environments that have it, in their order.
type held struct {
	pair
	first *plan.Edge
	in    []string
}

// edges reports what a component requires in some environments only, though both
// ends of the edge are rolled out, and were rendered, in the others as well.
func (p *parity) edges(environments []Input, byName map[string]map[string]member) {
	known := map[pair]*held{}
	var all []*held
	for _, in := range environments {
		for i, e := range in.Edges {
			if e.Basis != finding.Declared && e.Strength != plan.Hard {
				continue
			}
			k := pair{e.From, e.To}
			h := known[k]
			if h == nil {
				h = &held{pair: k, first: &in.Edges[i]}
				known[k] = h
				all = append(all, h)
			}
			if len(h.in) == 0 || h.in[len(h.in)-1] != in.Environment {
				h.in = append(h.in, in.Environment)
			}
		}
	}
	all = slices.DeleteFunc(all, func(h *held) bool { return len(h.in) == len(environments) })
	slices.SortFunc(all, func(a, b *held) int {
		return cmp.Or(strings.Compare(a.from, b.from), strings.Compare(a.to, b.to))
	})
	// A value that differs brings several edges: they are one difference.
	differences := map[string]*difference{}
	var order []*difference
	for _, k := range all {
		d := difference{from: k.from, verb: "requires"}
		for _, e := range p.names {
			from, to := byName[k.from][e], byName[k.to][e]
			switch {
			case slices.Contains(k.in, e):
				d.with = append(d.with, e)
			case from.Enabled && to.Enabled && from.seen && to.seen:
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
		known.to, known.edges = append(known.to, k.to), append(known.edges, *k.first)
	}
	for _, d := range order {
		p.add(d.finding(byName), d.without, d.with)
	}
}

// difference is what a component requires in some environments only.
type difference struct {
	from, verb    string
	to            []string
	with, without []string
	edges         []plan.Edge
}

func (d difference) key() string {
	return strings.Join([]string{d.from, d.verb, strings.Join(d.with, ","), strings.Join(d.without, ",")}, "\x00")
}

func (d difference) finding(byName map[string]map[string]member) finding.Finding {
	f := finding.Finding{
		Severity: finding.Warning, Environment: d.without[0], Component: d.from, Basis: d.edges[0].Basis,
		Position: byName[d.from][d.without[0]].Position,
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
