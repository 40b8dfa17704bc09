package infer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// Edges returns every edge with its evidence, and findings about declared
// requirements that nothing provides. There is at most one edge of a basis
// between two components; what it rests on is merged. Both are sorted.
func Edges(in Input) ([]plan.Edge, []finding.Finding) {
	x := newIndex(in)
	declared, findings := x.declared()
	edges := merge(append(declared, x.inferred()...))
	finding.Sort(findings)
	return edges, findings
}

// key names something that is provided and required.
type key = component.Capability

// provider is one component that provides something.
type provider struct {
	component int // index into the components, which is their order
	// by says what provides it: "Certificate apps/web", "the sync option
	// CreateNamespace=true".
	by       string
	position finding.Position
}

// need is something that one object requires.
type need struct {
	key   key
	field string // of the object, "spec.secretName"
	// verb reads on with the name of what is needed: "reads Secret apps/db".
	verb     string
	strength plan.Strength
	// anyNamespace accepts a provider in whatever namespace, if there is only
	// one such namespace: for references that do not say theirs.
	anyNamespace bool
}

// index holds what every component provides.
type index struct {
	in      Input
	objects [][]object // by component, enabled and rendered only
	byName  map[string]int
	provide map[key][]provider
	world   world
}

// object is a rendered object with the component it belongs to.
type object struct {
	manifest.Object
	component int
}

// namespace is where the object lands; empty for a cluster-wide one.
func (o object) namespace() string { return o.Target }

func newIndex(in Input) *index {
	x := &index{in: in, objects: make([][]object, len(in.Components)), byName: map[string]int{}, provide: map[key][]provider{}}
	for i, c := range in.Components {
		if _, ok := x.byName[c.Name]; !ok {
			x.byName[c.Name] = i
		}
		if !c.Enabled {
			continue
		}
		for _, o := range in.Objects[c.Name] {
			x.objects[i] = append(x.objects[i], object{Object: o, component: i})
		}
	}
	x.world = newWorld(x.objects)
	for i := range in.Components {
		if !in.Components[i].Enabled {
			continue
		}
		for _, f := range families {
			if f.component != nil {
				f.component(&in.Components[i], func(k key, by string, at finding.Position) { x.add(k, provider{i, by, at}) })
			}
			if f.provides == nil {
				continue
			}
			for _, o := range x.objects[i] {
				f.provides(o, func(k key) {
					x.add(k, provider{i, o.Resource().Human(), o.Origin.Position()})
				})
			}
		}
	}
	return x
}

func (x *index) add(k key, p provider) {
	for _, have := range x.provide[k] {
		if have.component == p.component {
			return // the first object of a component speaks for it
		}
	}
	x.provide[k] = append(x.provide[k], p)
}

// find chooses the provider for a component: itself, else the earliest in
// order. ok is false when nothing in the repository provides it.
func (x *index) find(k key, consumer int) (p provider, ok bool) {
	all := x.provide[k]
	for i, candidate := range all {
		if candidate.component == consumer {
			return candidate, true
		}
		if i == 0 || candidate.component < p.component {
			p = candidate
		}
	}
	return p, len(all) > 0
}

// findAnywhere finds the provider of a name whose namespace is not known.
func (x *index) findAnywhere(k key, consumer int) (provider, bool) {
	var found []key
	for have := range x.provide {
		if have.Kind == k.Kind && have.Name == k.Name {
			found = append(found, have)
		}
	}
	if len(found) != 1 {
		return provider{}, false
	}
	return x.find(found[0], consumer)
}

// inferred goes through all objects and looks up what they need.
func (x *index) inferred() []plan.Edge {
	var edges []plan.Edge
	for i := range x.in.Components {
		// Many objects need the same namespace or CRD: one speaks for all.
		seen := map[string]bool{}
		for _, o := range x.objects[i] {
			for _, f := range families {
				if f.requires == nil {
					continue
				}
				f.requires(x.world, o, func(n need) {
					once := n.key.String()
					if !f.once {
						once += "\x00" + o.Resource().String() + "\x00" + n.field
					}
					if seen[once] {
						return
					}
					seen[once] = true
					if e, ok := x.edge(o, n); ok {
						edges = append(edges, e)
					}
				})
			}
		}
	}
	return append(edges, x.webhooks()...)
}

// edge looks up one need. There is none where the component itself or the
// cluster provides it.
func (x *index) edge(o object, n need) (plan.Edge, bool) {
	if builtin(n.key) || n.key.Name == "" {
		return plan.Edge{}, false
	}
	p, ok := x.find(n.key, o.component)
	if !ok && n.anyNamespace {
		p, ok = x.findAnywhere(n.key, o.component)
	}
	if !ok || p.component == o.component {
		return plan.Edge{}, false
	}
	from, to := x.in.Components[o.component].Name, x.in.Components[p.component].Name
	if from == to {
		return plan.Edge{}, false
	}
	return plan.Edge{
		From: from, To: to, Strength: n.strength, Basis: finding.Rendered, Reason: n.verb,
		Evidence: []finding.Evidence{
			{Text: o.Resource().Human() + " " + n.verb, File: o.Origin.File, Line: o.Origin.Line, Object: o.Resource().String(), Field: n.field},
			{Text: "provided by " + p.by + " of " + to, File: p.position.File, Line: p.position.Line},
		},
	}, true
}

// merge joins edges of one basis between two components.
func merge(edges []plan.Edge) []plan.Edge {
	slices.SortStableFunc(edges, func(a, b plan.Edge) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(string(a.Basis), string(b.Basis)),
			compareStrength(a.Strength, b.Strength), strings.Compare(a.Reason, b.Reason))
	})
	var out []plan.Edge
	var reasons []string
	finish := func() {
		if len(out) == 0 {
			return
		}
		last := &out[len(out)-1]
		last.Evidence = distinct(last.Evidence)
		if reasons = slices.Compact(reasons); len(reasons) > 1 {
			last.Reason = fmt.Sprintf("%s, and %d more", reasons[0], len(reasons)-1)
		}
	}
	for _, e := range edges {
		if n := len(out); n > 0 && out[n-1].From == e.From && out[n-1].To == e.To && out[n-1].Basis == e.Basis {
			// The gravest comes first.
			out[n-1].Evidence = append(out[n-1].Evidence, e.Evidence...)
			reasons = append(reasons, e.Reason)
			continue
		}
		finish()
		e.Evidence = slices.Clone(e.Evidence)
		out, reasons = append(out, e), []string{e.Reason}
	}
	finish()
	return out
}

func compareStrength(a, b plan.Strength) int {
	rank := func(s plan.Strength) int {
		if s == plan.Hard {
			return 0
		}
		return 1
	}
	return cmp.Compare(rank(a), rank(b))
}

// distinct drops what is there already; each requirement stays before the
// provider that follows it.
func distinct(all []finding.Evidence) []finding.Evidence {
	seen := map[finding.Evidence]bool{}
	return slices.DeleteFunc(all, func(e finding.Evidence) bool {
		was := seen[e]
		seen[e] = true
		return was
	})
}
