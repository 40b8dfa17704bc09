package infer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// need is something that one object requires.
type need struct {
	key key
	// or are other things that stand for it, the likeliest first: the whole group
	// of a kind, the package that brings it.
	or    []key
	field string // of the object, "spec.secretName"
	// parts of the thing that the object names as well.
	parts []part
	// verb reads on after the object: "reads Secret apps/db".
	verb     string
	strength plan.Strength
	effect   dependency.Effect
	// anyNamespace accepts a provider in whatever namespace, if there is only
	// one such namespace: for references that do not say theirs.
	anyNamespace bool
	// absent is set where a thing that nothing provides is worth a word.
	absent bool
	// slip is set where it is so only if there is a thing of nearly the same name.
	slip bool
	// hint marks what gives an order and no finding: evidence in free text, and
	// needs of objects that are Healthy without.
	hint bool
	// static is set where what provides it has no health.
	static bool
}

// require looks up what all objects need.
func (x *index) require(found *collection) {
	for i := range x.in.Components {
		for _, o := range x.objects[i] {
			for _, f := range families {
				if f.requires != nil {
					f.requires(x.world, o, func(n need) { x.look(found, o, n) })
				}
			}
		}
		for _, o := range objectsOf(i, x.in.Placed[x.name(i)]) {
			requiresNamespace(x.world, o, func(n need) {
				n.absent = false // what installs Flux may make it
				x.look(found, o, n)
			})
		}
	}
}

// look finds the provider of one need.
func (x *index) look(found *collection, o *object, n need) {
	if !plausible(n.key) || builtin(n.key) && !x.ownAccount(n.key) || x.runsArgo(o, n.key) {
		return
	}
	x.checkParts(found, o, n)
	k := n.key
	p, ok := x.find(k, o.component, o.place)
	for _, other := range n.or {
		if ok {
			break
		}
		if p, ok = x.find(other, o.component, o.place); ok && other.Kind == kindAPIService {
			k = other
		}
	}
	if !ok && n.anyNamespace {
		k, p, ok = x.findAnywhere(k, o.component, o.place)
	}
	strength := n.strength
	if n.effect == dependency.Ready && !x.assessed(o) {
		// Nothing waits for it: it counts as Healthy at once.
		n.strength = plan.Soft
		n.hint = n.hint || x.in.Waived != nil && x.in.Waived(o.g, o.k)
	}
	if !ok {
		n.strength = strength
		if n.absent && n.hint && o.k == "CronJob" && !truth(o.root(), "spec", "suspend") {
			n.strength, n.hint = plan.Hard, false // its order matters little, and that it is nowhere much
		}
		if n.absent && n.strength == plan.Hard && !n.hint || n.slip {
			found.miss(o, n) // whether or not anything waits for it
		}
		return
	}
	if p.object == o || p.object == nil && p.running == "" && p.component == o.component && !x.early(o, n, p) {
		return // Argo CD makes its namespace before all else
	}
	if x.there(k, o.component, p) {
		return
	}
	if k.Kind == kindService && n.strength == plan.Hard && !n.static {
		p = x.workload(p) // who talks to a Service needs its pods
	}
	thing := x.world.required(k)
	if k.Kind == kindReserved {
		thing = p.object.resource()
	}
	found.add(&dependency.Dependency{
		Rule: ruleOf(k.Kind), Required: thing, Strength: n.strength, Effect: n.effect, Basis: p.basis, Reason: n.verb, Hint: n.hint, Static: n.static,
		Consumer: o.end(x.name(o.component)), Provider: x.end(p), Evidence: []finding.Evidence{required(o, n.verb, n.field), x.provided(p)},
	}, o.component, p.component, strength)
}

// ownAccount reports whether a ServiceAccount is of the platform in a namespace that comes
// with the cluster, as do accounts in it.
func (x *index) ownAccount(k key) bool {
	return k.Kind == kindServiceAccount && k.Name != "default" && len(x.provide[k]) > 0
}

// assessed reports whether a sync waits for the health of an object.
func (x *index) assessed(o *object) bool {
	if x.in.Assessed == nil {
		return true
	}
	if spec, _ := podSpec(o); spec != nil && o.k != "CronJob" {
		return true
	}
	return x.in.Assessed(o.g, o.k)
}

func (x *index) end(p provider) dependency.End {
	if p.object != nil {
		return p.object.end(x.name(p.component))
	}
	e := dependency.End{Component: x.name(p.component), Place: p.place, Position: p.position}
	if p.running != "" {
		e.Object = finding.Resource{Group: "apps", Kind: "Deployment", Namespace: x.in.Components[p.component].Namespace, Name: p.running}
	}
	return e
}

// required is the evidence of a need.
func required(o *object, verb, field string) finding.Evidence {
	r := o.resource()
	return finding.Evidence{Text: r.Human() + " " + verb, File: o.Origin.File, Line: o.Origin.Line, Object: r.String(), Field: field}
}

// provided is the evidence of a provider.
func (x *index) provided(p provider) finding.Evidence {
	e := finding.Evidence{Text: "provided by " + p.by + " of " + x.name(p.component), File: p.position.File, Line: p.position.Line}
	switch {
	case p.object == nil && p.basis == finding.Catalogue: // which names a chart with where it comes from
		e.Text = "provided by " + x.name(p.component) + ", by " + p.by
	case p.object != nil:
		r := p.object.resource()
		e.Text, e.Object = "provided by "+r.Human()+" of "+x.name(p.component), r.String()
		if p.by != "" {
			e.Text += ", " + p.by
		}
	}
	return e
}

// crossKey keeps one dependency for each thing that a component requires.
type crossKey struct {
	consumer, provider int
	rule               string
	required           finding.Resource
}

// collection gathers dependencies.
type collection struct {
	x       *index
	cross   map[crossKey]*entry
	within  []*dependency.Dependency
	missing map[crossKey]dependency.Missing
	lacks   map[lackKey]dependency.Lack
}

// entry is one dependency between components. strength is how much the consumer
// needs it whether or not Argo CD assesses its health: what a good order goes by.
type entry struct {
	*dependency.Dependency
	strength plan.Strength
}

func (c *collection) add(d *dependency.Dependency, consumer, provider int, strength plan.Strength) {
	if consumer == provider {
		c.within = append(c.within, d)
		return
	}
	k := crossKey{consumer, provider, d.Rule, d.Required}
	if d.Rule == ruleWebhook {
		k.required = finding.Resource{} // the webhooks of one server stand and fall together
	}
	if strength == plan.Hard && d.Effect == dependency.Ready {
		d.Unready = []dependency.End{d.Consumer}
	}
	if d.Rule == ruleOf(kindKind) && d.Consumer.Object.Kind != "" {
		d.Refused = []dependency.End{d.Consumer}
	}
	have, ok := c.cross[k]
	if !ok {
		c.cross[k] = &entry{d, strength}
		return
	}
	unready, refused, static := have.Unready, have.Refused, have.Static && d.Static
	unready, refused = append(unready, d.Unready...), append(refused, d.Refused...)
	if compareGravity(d, have.Dependency) < 0 {
		have.Dependency = d
	}
	have.Unready, have.Refused, have.Static = unready, refused, static
	if compareStrength(strength, have.strength) < 0 {
		have.strength = strength
	}
}

// compareGravity orders the dependencies on one thing; the first speaks for all:
// hard before soft, refused before not ready, what has to run before what has to be there,
// then by file and line.
func compareGravity(d, e *dependency.Dependency) int {
	if n := compareBool(d.Hint, e.Hint); n != 0 {
		return n
	}
	if n := compareStrength(d.Strength, e.Strength); n != 0 {
		return n
	}
	if n := strings.Compare(string(d.Effect), string(e.Effect)); n != 0 {
		return n
	}
	if n := compareBool(d.Static, e.Static); n != 0 {
		return n
	}
	if n := compareEnds(&d.Consumer, &e.Consumer); n != 0 {
		return n
	}
	if n := strings.Compare(d.Reason, e.Reason); n != 0 {
		return n
	}
	if n := strings.Compare(d.Evidence[0].Field, e.Evidence[0].Field); n != 0 {
		return n
	}
	return compareEnds(&d.Provider, &e.Provider)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func compareEnds(a, b *dependency.End) int {
	if n := strings.Compare(a.Component, b.Component); n != 0 {
		return n
	}
	if n := a.Position.Compare(b.Position); n != 0 {
		return n
	}
	return compareResources(a.Object, b.Object)
}

func compareResources(a, b finding.Resource) int {
	if a == b {
		return 0
	}
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// compareThings orders dependencies by consumer, rule, thing and provider.
func compareThings(a, b *dependency.Dependency) int {
	if n := compareEnds(&a.Consumer, &b.Consumer); n != 0 {
		return n
	}
	if n := strings.Compare(a.Rule, b.Rule); n != 0 {
		return n
	}
	if n := compareResources(a.Required, b.Required); n != 0 {
		return n
	}
	return strings.Compare(a.Provider.Component, b.Provider.Component)
}

// dependencies returns all in one order; within a component one per object and
// thing.
func (c *collection) dependencies() []dependency.Dependency {
	all := make([]*dependency.Dependency, 0, len(c.cross)+len(c.within))
	for _, e := range c.cross {
		slices.SortFunc(e.Unready, func(a, b dependency.End) int { return compareEnds(&a, &b) })
		e.Unready = slices.Compact(e.Unready)
		slices.SortFunc(e.Refused, func(a, b dependency.End) int { return compareEnds(&a, &b) })
		e.Refused = slices.Compact(e.Refused)
		all = append(all, e.Dependency)
	}
	all = append(all, c.within...)
	slices.SortFunc(all, compareDependencies)
	all = slices.CompactFunc(all, func(a, b *dependency.Dependency) bool { return compareThings(a, b) == 0 })
	out := make([]dependency.Dependency, len(all))
	for i, d := range all {
		out[i] = *d
	}
	return out
}

func compareDependencies(a, b *dependency.Dependency) int {
	if n := compareThings(a, b); n != 0 {
		return n
	}
	return compareGravity(a, b)
}
