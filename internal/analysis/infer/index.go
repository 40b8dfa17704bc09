package infer

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/operators"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// key names something that is provided and required.
type key = model.Capability

// object is a rendered object with the component it belongs to.
type object struct {
	manifest.Object
	component int
	place     dependency.Place
	g, v, k   string // its group, version and kind
	name      string
}

// namespace is where the object lands; empty for a cluster-wide one.
func (o *object) namespace() string { return o.Target }

// is reports whether an object is of a group and one of some kinds.
func (o *object) is(group string, kinds ...string) bool {
	return o.g == group && slices.Contains(kinds, o.k)
}

func (o *object) root() map[string]any { return o.Unstructured.Object }

func (o *object) resource() finding.Resource {
	return finding.Resource{Group: o.g, Kind: o.k, Namespace: o.Space(), Name: o.name}
}

func (o *object) end(component string) dependency.End {
	return dependency.End{Component: component, Object: o.resource(), Place: o.place, Position: o.Origin.Position()}
}

// provider is one component that provides something.
type provider struct {
	component int // index into the components
	// object provides it; nil where the component does by what its descriptor or
	// a catalogue says. by then says how, at a position.
	object *object
	// running is the Deployment that provides it once it runs, by the word of a catalogue;
	// empty for everything else.
	running  string
	place    dependency.Place
	by       string
	position finding.Position
	basis    finding.Basis
}

// index holds what every component provides.
type index struct {
	in      Input
	objects [][]*object // by component, enabled and rendered only
	byName  map[string]int
	// elsewhere are the components of all clusters, clusters their indexes; nil
	// where there is one cluster.
	elsewhere map[string]model.Component
	clusters  []*index
	// rank is the place of each component in one order of all: waves, phase, name.
	rank    []int
	provide map[key][]provider
	// contents are what providers put into things that have parts; shut keeps which
	// of them nothing else adds to.
	contents map[key]*content
	shut     map[lackKey]bool
	// kinds are the kinds of thing that are provided at all.
	kinds map[string]bool
	// anywhere lists the namespaces of a Secret by its name.
	anywhere map[string][]string
	// configMaps are the names of all ConfigMaps.
	configMaps map[string]bool
	// holders are what mayHold found, texts what said did, and renamed what overrides did, by
	// component.
	holders        map[key][]string
	keeps          map[string]bool // what keepsSecrets found, by namespace
	texts, renamed map[int]string
	// renames are the components of which the catalogue knows a Namespace: the namespace of a
	// kustomization around it renames that.
	renames map[int]bool
	// vocabulary has the words that says has looked for, by component.
	vocabulary map[int]map[string]bool
	// late is set while things are learned whose components come in any order.
	late       bool
	children   map[string][]operators.Made // by "group/Kind"
	knownHooks []knownHook
	// bringers are the components that bring a webhook, by its name.
	bringers   map[string]map[int]bool
	knownNeeds []knownNeed
	// off are the charts that could bring a kind, by it.
	off        map[key]switchedOffKind
	knownLands []knownLand
	// partial are the components of which something is not rendered; unrendered are
	// their names.
	partial    []int
	unrendered []string
	// unlisted are those of unrendered whose kinds no catalogue lists; unseen are
	// those of them that are there to bring CRDs.
	unlisted []string
	unseen   []unseen
	// hidden are the parts that are neither rendered nor in the catalogue, whose charts make
	// no Namespaces for others.
	hidden []hidden
	// gaps are all parts that are not rendered.
	gaps  []hidden
	world *world
	// named has the names of what is provided, by kind and namespace; custom, makes and
	// sayings are what namespacesOfCustom, allMade and allSayings find.
	named   func() map[key][]string
	custom  func() map[string]bool
	makes   func() map[made]bool
	sayings func() map[string][]*object
}

func newIndex(in Input) *index {
	if in.Order == nil {
		in.Order = model.Compare
	}
	x := &index{in: in, objects: make([][]*object, len(in.Components)), byName: map[string]int{}, provide: map[key][]provider{},
		contents: map[key]*content{}, shut: map[lackKey]bool{}, kinds: map[string]bool{}, children: map[string][]operators.Made{}, anywhere: map[string][]string{}, configMaps: map[string]bool{}, holders: map[key][]string{}, keeps: map[string]bool{}, texts: map[int]string{}, renamed: map[int]string{}, renames: map[int]bool{}, vocabulary: map[int]map[string]bool{}, off: map[key]switchedOffKind{}}
	x.rank, x.named = ranks(in.Components), sync.OnceValue(x.listNames)
	x.custom, x.makes, x.sayings = sync.OnceValue(x.namespacesOfCustom), sync.OnceValue(x.allMade), sync.OnceValue(x.allSayings)
	for i, c := range in.Components {
		if at, ok := x.byName[c.Name]; !ok || x.rank[i] < x.rank[at] {
			x.byName[c.Name] = i
		}
		if c.Enabled {
			x.objects[i] = objectsOf(i, in.Objects[c.Name])
		}
	}
	x.world = newWorld(x)
	for i := range in.Components {
		if in.Components[i].Enabled {
			x.learn(i)
		}
	}
	x.late = true
	x.learnChildren()
	x.learnControllers()
	x.learnPackages()
	for k, all := range x.provide {
		x.kinds[k.Kind] = true
		for _, p := range all {
			if k.Kind == kindNamespace && p.basis == finding.Catalogue {
				x.renames[p.component] = true
			}
			if k.Kind == kindKind && x.world.makesKinds[p.component] {
				group, _, _ := strings.Cut(k.Name, "/")
				x.world.registered[group] = true
			}
		}
		if k.Kind == kindService {
			x.world.services[k] = true
		}
		slices.SortFunc(all, func(a, b provider) int { return cmp.Compare(x.rank[a.component], x.rank[b.component]) })
		if k.Kind == kindSecret && k.Namespace != everyNamespace {
			x.anywhere[k.Name] = append(x.anywhere[k.Name], k.Namespace)
		}
		if k.Kind == kindConfigMap {
			x.configMaps[k.Name] = true
		}
	}
	slices.Sort(x.unrendered)
	slices.Sort(x.unlisted)
	return x
}

// ranks puts components into one order whatever order they are given in.
func ranks(components []model.Component) []int {
	order := make([]int, len(components))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &components[i], &components[j]
		if a.PreArgo != b.PreArgo {
			if a.PreArgo {
				return -1
			}
			return 1
		}
		return cmp.Or(slices.Compare(a.Waves, b.Waves), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Step, b.Step), strings.Compare(a.Name, b.Name),
			a.Position.Compare(b.Position))
	})
	rank := make([]int, len(components))
	for at, i := range order {
		rank[i] = at
	}
	return rank
}

// objectsOf readies the objects of a component: those that a sync applies, by
// file and line.
func objectsOf(component int, given []manifest.Object) []*object {
	places, applied := Places(given)
	all := make([]object, 0, len(given))
	for i, o := range given {
		if !applied[i] {
			continue
		}
		gvk := o.GroupVersionKind()
		all = append(all, object{Object: o, component: component, place: places[i], g: gvk.Group, v: gvk.Version, k: gvk.Kind, name: o.GetName()})
	}
	out := make([]*object, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	slices.SortStableFunc(out, func(a, b *object) int {
		return cmp.Or(a.Origin.Position().Compare(b.Origin.Position()), strings.Compare(a.g, b.g), strings.Compare(a.k, b.k),
			strings.Compare(a.Target, b.Target), strings.Compare(a.name, b.name), cmp.Compare(a.place.Hook, b.place.Hook), cmp.Compare(a.place.Wave, b.place.Wave))
	})
	return out
}

// learn takes in what one component provides.
func (x *index) learn(i int) {
	c := &x.in.Components[i]
	x.createsNamespace(i)
	for _, o := range x.objects[i] {
		for _, f := range families {
			if f.provides != nil {
				f.provides(o, func(k key) {
					x.add(k, provider{component: i, object: o, place: o.place, position: o.Origin.Position(), basis: finding.Rendered})
				})
			}
		}
	}
	_, rendered := x.in.Objects[c.Name]
	known, ok := Known{}, false
	if x.in.Catalogue != nil {
		known, ok = x.in.Catalogue(*c)
	}
	rendered = rendered && !known.Unrendered
	if ok {
		x.learnKnown(i, known, rendered)
	}
	if !rendered {
		x.partial = append(x.partial, i)
		x.unrendered = append(x.unrendered, c.Name)
		x.hide(i, known, ok)
		x.open(i, known)
		if !ok || len(known.Kinds) == 0 || known.Open {
			x.unlisted = append(x.unlisted, c.Name)
			if forCRDs(c) {
				x.unseen = append(x.unseen, unseenOf(i, known))
			}
		}
	}
}

// add keeps one provider of a thing per component: the one that a sync applies
// first.
func (x *index) add(k key, p provider) {
	if !plausible(k) {
		return
	}
	x.fill(k, p)
	all := x.provide[k]
	for n := len(all) - 1; n >= 0; n-- {
		if all[n].component == p.component {
			if before(p, all[n]) {
				all[n] = p
			}
			return
		}
		if !x.late {
			break // components are learned one after the other
		}
	}
	x.provide[k] = append(all, p)
}

// before orders the providers of one component; what is rendered counts more than
// what a catalogue says.
func before(p, q provider) bool {
	if (p.basis == finding.Catalogue) != (q.basis == finding.Catalogue) {
		return q.basis == finding.Catalogue
	}
	return cmp.Or(p.place.Compare(q.place), cmp.Compare(p.place.Kind, q.place.Kind)) < 0
}

// find chooses the provider for a component: itself; else one that is earlier,
// so that a thing that is there in time is never called late; else one in the
// same namespace, of a parent before all; else the first in order. ok is false when nothing in the
// repository provides it.
func (x *index) find(k key, consumer int, at dependency.Place) (p provider, ok bool) {
	all := x.provide[k]
	if len(all) == 0 && k.Namespace != "" && (k.Kind == kindSecret || k.Kind == kindConfigMap) {
		all = x.provide[key{Kind: k.Kind, Namespace: everyNamespace, Name: k.Name}]
	}
	if len(all) == 0 {
		return provider{}, false
	}
	own, found := slices.BinarySearchFunc(all, x.rank[consumer], func(p provider, rank int) int { return cmp.Compare(x.rank[p.component], rank) })
	if found && all[own].place.Compare(at) <= 0 {
		return all[own], true
	}
	c := &x.in.Components[consumer]
	near, parent := -1, false // parent is set where near is of a parent
	for i := range all {
		if all[i].component == consumer {
			continue
		}
		other := &x.in.Components[all[i].component]
		order := x.in.Order(other, c)
		if order < 0 {
			return all[i], true
		}
		ofParent := all[i].object != nil && slices.Contains(c.Parents, other.Name)
		if order == 0 && (near < 0 && other.Namespace == c.Namespace || ofParent && !parent) {
			near, parent = i, ofParent
		}
	}
	switch {
	case found:
		return all[own], true
	case near >= 0:
		return all[near], true
	}
	least := -1
	for i := range all {
		if x.in.Order(&x.in.Components[all[i].component], c) != 0 {
			continue
		}
		if all[i].object != nil { // it is written, and does not only come with something
			return all[i], true
		}
		if least < 0 {
			least = i
		}
	}
	return all[max(least, 0)], true
}

// findAnywhere finds the provider of a Secret whose namespace is not known, where
// it can be one only.
func (x *index) findAnywhere(k key, consumer int, at dependency.Place) (key, provider, bool) {
	namespaces := x.anywhere[k.Name]
	if k.Kind != kindSecret || len(namespaces) != 1 {
		return k, provider{}, false
	}
	k.Namespace = namespaces[0]
	p, ok := x.find(k, consumer, at)
	return k, p, ok
}

func (x *index) name(component int) string { return x.in.Components[component].Name }
