package infer

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// learnKnown takes in what a catalogue says of a component. What is rendered
// shows the rest itself.
func (x *index) learnKnown(i int, known Known, rendered bool) {
	c := &x.in.Components[i]
	for _, part := range known.parts() {
		x.learnPart(i, part, rendered)
	}
	if !rendered && len(known.Controllers)+len(known.Objects) > 0 && c.Namespace != "" && !known.Elsewhere && !known.placed() && !x.patched(c) {
		x.knownLands = append(x.knownLands, knownLand{i, known.Source})
	}
}

// learnPart takes in what is known of one source of a component.
func (x *index) learnPart(i int, known Known, rendered bool) {
	c := &x.in.Components[i]
	p := provider{component: i, by: known.Source, position: c.Position, basis: finding.Catalogue, place: dependency.Place{Hook: 1}}
	if known.At != (finding.Position{}) {
		p.position = known.At
	}
	for _, k := range known.Controllers {
		x.add(controllerKey(k.Group, k.Kind), p)
	}
	for _, child := range known.Children {
		x.children[child.Of] = append(x.children[child.Of], child.Made)
	}
	for _, hook := range known.Webhooks {
		if (!rendered || hook.AtRuntime) && hook.FailurePolicy != "Ignore" && !hook.Selective {
			x.knownHooks = append(x.knownHooks, knownHook{KnownWebhook: hook, provider: p, placed: hook.Placed || x.patched(c)})
		}
	}
	for _, k := range known.Off {
		if _, more := x.off[kindKey(k.Group, k.Kind)]; !more {
			x.off[kindKey(k.Group, k.Kind)] = switchedOffKind{i, k.Switch, p.position}
		}
	}
	for _, k := range known.Kinds {
		if rendered && k.Runtime == "" {
			continue
		}
		x.world.groups[k.Group], x.world.scoped[k.Group+"/"+k.Kind] = true, true
		if k.Plural != "" && x.world.plurals[k.Group+"/"+k.Kind] == "" {
			x.world.plurals[k.Group+"/"+k.Kind] = k.Plural
		}
		by := p
		by.running = k.Runtime
		x.add(kindKey(k.Group, k.Kind), by)
		if k.Kind != "*" {
			x.add(key{Kind: kindCRD, Name: x.world.resource(k.Group, k.Kind) + "." + k.Group}, by)
		}
	}
	if rendered {
		return
	}
	for _, k := range known.Requires {
		x.knownNeeds = append(x.knownNeeds, knownNeed{k, i, known.Source, p.position})
	}
	for _, group := range known.APIGroups {
		x.add(key{Kind: kindAPIService, Name: group}, p)
	}
	for _, o := range known.Objects {
		x.learnKnownObject(o, p)
	}
}

func (x *index) learnKnownObject(o KnownObject, p provider) {
	ns := either(o.Namespace, x.in.Components[p.component].Namespace)
	switch o.Kind {
	case "Secret":
		x.add(secretKey(ns, o.Name), p)
	case "ConfigMap":
		x.add(configMapKey(ns, o.Name), p)
	case "Service":
		x.add(serviceKey(ns, o.Name), p)
	case "ServiceAccount":
		x.add(serviceAccountKey(ns, o.Name), p)
	case "PersistentVolumeClaim":
		x.add(pvcKey(ns, o.Name), p)
	case "Namespace":
		x.add(namespaceKey(o.Name), p)
	case "IngressClass":
		x.add(key{Kind: kindIngressClass, Name: o.Name}, p)
	case "GatewayClass":
		x.add(key{Kind: kindGatewayClass, Name: o.Name}, p)
	case "PriorityClass":
		x.add(key{Kind: kindPriorityClass, Name: o.Name}, p)
	case "RuntimeClass":
		x.add(key{Kind: kindRuntimeClass, Name: o.Name}, p)
	case "StorageClass":
		names := []string{o.Name}
		if o.Default {
			names = append(names, defaultClass)
		}
		for _, name := range names {
			x.add(storageClassKey(name), p)
			if o.WaitForFirstConsumer {
				x.add(key{Kind: kindWaiting, Name: name}, p)
			}
		}
	}
}

// knownNeed is a kind of objects that a chart certainly contains.
type knownNeed struct {
	KnownKind
	component int
	source    string
	position  finding.Position
}

// switchedOffKind is a chart that could bring a kind.
type switchedOffKind struct {
	component int
	value     string
	at        finding.Position
}

// offOf says of a kind that nothing brings which chart could, with the value that is off: empty
// where there is none, or something for CRDs whose content nobody knows may bring it.
func (x *index) offOf(k key) (string, finding.Position) {
	off, ok := x.off[k]
	if !ok {
		return "", finding.Position{}
	}
	c := &x.in.Components[off.component]
	if slices.ContainsFunc(x.hidden, func(h hidden) bool { return h.component == off.component }) ||
		slices.ContainsFunc(x.unseen, func(u unseen) bool { return u.component != off.component && x.mayBring(u, k, c) }) {
		return "", finding.Position{}
	}
	return off.value + " of " + c.Name, off.at
}

// requireKnown looks up the kinds that charts contain by the word of a catalogue.
// What a chart contains cannot be applied before its kinds, wherever it stands in
// the sync of its component.
func (x *index) requireKnown(found *collection) {
	place := dependency.Place{Hook: 1}
	for _, n := range x.knownNeeds {
		k := kindKey(n.Group, n.Kind)
		p, ok := x.find(k, n.component, place)
		if !ok {
			p, ok = x.find(kindKey(n.Group, "*"), n.component, place)
		}
		c := &x.in.Components[n.component]
		verb := "has objects of kind " + n.Kind + " of " + n.Group
		if !ok {
			if off, at := x.offOf(k); off != "" && !x.inOther(k) {
				found.record(n.component, dependency.Missing{
					Rule: ruleOf(kindKind), Required: x.world.required(k), Strength: plan.Hard, Reason: verb, Off: off, OffAt: at,
					Consumer: dependency.End{Component: c.Name, Place: place, Position: c.Position},
					Evidence: []finding.Evidence{{Text: n.source + " " + verb, File: n.position.File, Line: n.position.Line}},
				})
			}
		}
		if !ok || p.component == n.component || x.there(k, n.component, p) {
			continue
		}
		found.add(&dependency.Dependency{
			Rule: ruleOf(k.Kind), Required: x.world.required(k), Strength: plan.Hard, Effect: dependency.Apply, Basis: finding.Catalogue, Reason: verb,
			Consumer: dependency.End{Component: c.Name, Place: place, Position: c.Position}, Provider: x.end(p),
			Evidence: []finding.Evidence{{Text: n.source + " " + verb, File: n.position.File, Line: n.position.Line}, x.provided(p)},
		}, n.component, p.component, plan.Hard)
	}
}

// early reports whether an object is certain to be applied before the controller that a
// chart of its own component brings, which is not rendered: nothing else brings it, and
// nothing writes other waves on what the chart applies. (The CRD of the object comes in
// time: Argo CD moves it.)
func (x *index) early(o *object, n need, p provider) bool {
	if n.key.Kind != kindController || p.basis != finding.Catalogue || !slices.Contains(x.partial, o.component) || o.place.Compare(p.place) >= 0 {
		return false
	}
	for _, k := range append([]key{n.key}, n.or...) {
		if slices.ContainsFunc(x.provide[k], func(p provider) bool { return p.component != o.component }) {
			return false
		}
	}
	c := &x.in.Components[o.component]
	return !x.patched(c) && !x.placedByValues(c)
}

// knownLand is a component whose chart applies objects in its namespace, in wave 0.
type knownLand struct {
	component int
	source    string
}

// requireLands finds the Namespaces that charts land in by the word of a catalogue. One that
// the component writes itself into a later wave is moved by Argo CD, so that this is no
// more than a hint. Source: gitops-engine, pkg/sync, syncTasks.adjustDeps.
func (x *index) requireLands(found *collection) {
	place := dependency.Place{Hook: 1}
	for _, l := range x.knownLands {
		c := &x.in.Components[l.component]
		k := namespaceKey(c.Namespace)
		p, ok := x.find(k, l.component, place)
		verb, strength := "has objects that land in Namespace "+c.Namespace, plan.Hard
		if !ok {
			if !x.renames[l.component] {
				found.missLanding(l.component, verb, l.source)
			}
			continue
		}
		own := p.component == l.component
		if own && (p.object == nil || place.Compare(p.place) >= 0) || !own && x.there(k, l.component, p) {
			continue
		}
		if own {
			strength = plan.Soft
		}
		found.add(&dependency.Dependency{
			Rule: ruleOf(kindNamespace), Required: x.world.required(k), Strength: strength, Effect: dependency.Apply, Hint: own,
			Basis: finding.Catalogue, Reason: verb, Consumer: dependency.End{Component: c.Name, Place: place, Position: c.Position}, Provider: x.end(p),
			Evidence: []finding.Evidence{{Text: l.source + " " + verb, File: c.Position.File, Line: c.Position.Line}, x.provided(p)},
		}, l.component, p.component, strength)
	}
}

// learnChildren takes in what operators make by the word of a catalogue.
func (x *index) learnChildren() {
	if len(x.children) == 0 {
		return
	}
	for i, of := range x.objects {
		for _, o := range of {
			if !customGroup(o.g) {
				continue
			}
			for _, known := range x.children[o.g+"/"+o.k] {
				children(known, o, func(k key) {
					x.add(k, provider{component: i, object: o, place: o.place, position: o.Origin.Position(), basis: finding.Catalogue})
				})
			}
		}
	}
}
