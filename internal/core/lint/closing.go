package lint

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Which circles of components are deadlocks is decided by their objects: where web needs
// a Secret of config to become Healthy, and config has an Ingress that is Healthy only with
// the Service of web, both are applied, and both become Healthy.

// thing is an object of a component, which is Healthy or, with the moment applied, there;
// or a moment of the component's sync.
type thing struct {
	component int
	object    finding.Resource // none of a moment
	moment    int
}

// The moments of a sync. From healed on, each place in it has one: the moment when what
// stands there and before is Healthy, as far as that is waited for.
const (
	begun   = iota // its dry run knows all kinds, and nothing else keeps it from beginning
	applied        // nothing of it is refused
	running        // its pods answer: all of it but what leads others to them is Healthy
	whole          // all of it is Healthy
	healed
)

// looked is how many components of one circle are looked into: every two may be ordered.
// In a larger one, all hard steps close circles.
const looked = 200

// closing has the hard steps that can close a circle, and circling those of which there
// may be circles, closed or not.
//
// An Application whose object is refused does not get on, so that all of it waits. What
// becomes Ready later holds up what needs that object, and what comes in a later wave. A
// namespace that Argo CD makes for an Application is there before its first object: only
// what its sync cannot begin without comes before. Source: gitops-engine, pkg/sync,
// getSyncTasks (the namespace is a task before all others).
func (o *order) closing() (closing, circling *dag.Graph) {
	circle, count := o.hard().Components()
	if count == len(o.enabled) {
		return o.hard(), o.hard()
	}
	n := knot{order: o, circle: circle, things: map[thing]int{}, placed: map[int]map[finding.Resource]dependency.Place{}}
	n.find()
	tied, _ := dag.New(len(n.things), n.edges).Components()
	size := make([]int, count)
	for _, c := range circle {
		size[c]++
	}
	var closes, circles []dag.Edge
	for _, s := range o.steps {
		step := dag.Edge{From: s.from, To: s.to}
		if s.Strength != plan.Hard || circle[s.from] != circle[s.to] || n.isOpen(s) {
			continue
		}
		certain := len(n.between[step]) == 0 || s.Basis == finding.Declared || size[circle[s.from]] > looked
		real := slices.ContainsFunc(n.between[step], func(l link) bool { return !onlyCreated(l) })
		ordered := real && o.parted(o.enabled[s.from], o.enabled[s.to])
		if certain || real {
			circles = append(circles, step)
		}
		if certain || ordered || slices.ContainsFunc(n.between[step], func(l link) bool { return n.closes(l, tied) }) {
			closes = append(closes, step)
		}
	}
	return dag.New(len(o.enabled), closes), dag.New(len(o.enabled), circles)
}

// knot has what holds up what among objects of components that require each other in circles.
type knot struct {
	*order

	circle  []int // by component
	between map[dag.Edge][]link
	// open are the steps for a namespace that Applications outside of the circle make too, and
	// for a class of the network, which is there before.
	open   map[dag.Edge]bool
	things map[thing]int
	edges  []dag.Edge
	placed map[int]map[finding.Resource]dependency.Place
}

func (n *knot) at(t thing) int {
	i, known := n.things[t]
	if !known {
		i = len(n.things)
		n.things[t] = i
	}
	return i
}

func (n *knot) need(a, b thing) {
	n.edges = append(n.edges, dag.Edge{From: n.at(a), To: n.at(b)})
}

// find finds all needs. Components that are ordered wait for each other as well.
func (n *knot) find() {
	n.between, n.open = map[dag.Edge][]link{}, map[dag.Edge]bool{}
	for _, l := range n.links {
		from, to := n.ends(l)
		if from < 0 || n.circle[from] != n.circle[to] || l.Hint {
			continue
		}
		if onlyCreated(l) && n.isMadeOutside(l, n.circle[from]) || l.Rule == ruleClass && n.networks()[l.provider] {
			n.open[dag.Edge{From: from, To: to}] = true
			continue
		}
		consumers := n.consumers(l, from)
		for _, c := range consumers {
			n.need(c, n.provider(l, to))
		}
		if !l.within && len(consumers) > 0 {
			step := dag.Edge{From: from, To: to}
			n.between[step] = append(n.between[step], l)
		}
		n.place(to, l.Provider)
		for _, e := range append(slices.Clone(l.Unready), l.Consumer) {
			n.place(from, e)
		}
	}
	for _, s := range n.steps {
		if s.Strength == plan.Hard && !n.isOpen(s) && (s.Basis == finding.Declared || len(n.between[dag.Edge{From: s.from, To: s.to}]) == 0) {
			n.need(thing{component: s.from, moment: begun}, thing{component: s.to, moment: whole})
		}
	}
	n.ordered()
	for c := range n.placed {
		n.sync(c)
	}
}

// isMadeOutside reports whether an Application outside of a circle makes the namespace that a
// link needs, as CreateNamespace has it: any of them may be first.
func (n *knot) isMadeOutside(l link, circle int) bool {
	for i, c := range n.enabled {
		if n.circle[i] != circle && c.Namespace == l.Required.Name && c.Cluster == l.provider.Cluster && c.HasSyncOption("CreateNamespace=true") {
			return true
		}
	}
	return false
}

// isOpen reports whether a step rests on nothing but what may be there without it.
func (n *knot) isOpen(s step) bool {
	edge := dag.Edge{From: s.from, To: s.to}
	return n.open[edge] && len(n.between[edge]) == 0 && s.Basis != finding.Declared
}

// ends are the numbers of the components of a link, -1 where one is not enabled.
func (n *knot) ends(l link) (from, to int) {
	if l.consumer == nil || l.provider == nil {
		return -1, -1
	}
	return n.number[l.consumer.Name] - 1, n.number[l.provider.Name] - 1
}

// consumers are what a link holds up; none where it is soft between two components.
func (n *knot) consumers(l link, from int) []thing {
	unready := l.Unready
	if l.within || len(unready) == 0 && l.Strength == plan.Hard {
		unready = []dependency.End{l.Consumer}
	}
	var all []thing
	for _, e := range unready {
		switch {
		case e.Object.Kind != "" && (l.within || l.Effect == dependency.Ready):
			all = append(all, thing{component: from, object: e.Object})
		case l.Rule == ruleCRD && !n.dryRun().skipped(l):
			all = append(all, thing{component: from, moment: begun})
		default:
			all = append(all, thing{component: from, moment: applied})
		}
	}
	return all
}

// provider is what a link waits for: the object alone where that is data or has the pods,
// or where its being there is enough, as for what routes to a Service; all of the component
// where something else has to run, or where nothing is known of it.
func (n *knot) provider(l link, to int) thing {
	runs := slices.Contains([]string{"", ruleService, ruleController, ruleWebhook, ruleAPIService, ruleDeadlock}, l.Rule)
	switch {
	case onlyCreated(l):
		return thing{component: to, moment: begun}
	case l.Rule == ruleCRD && l.Provider.Object.Kind == "": // of a chart
		return thing{component: to, moment: applied}
	case l.Rule == ruleDeadlock && runsPods(l.Provider.Object): // a claim binds once there is a pod
		return thing{component: to, object: l.Provider.Object, moment: applied}
	case l.Provider.Object.Kind != "" && (l.Static || !runs || runsPods(l.Provider.Object)):
		return thing{component: to, object: l.Provider.Object}
	case runs && l.Rule != "" && l.Rule != ruleDeadlock:
		return thing{component: to, moment: running}
	default:
		return thing{component: to, moment: whole}
	}
}

// isRoute reports whether an object leads others to pods, which do not wait for it.
func isRoute(r finding.Resource) bool {
	return r.Group == "networking.k8s.io" && r.Kind == "Ingress" || r.Group == "gateway.networking.k8s.io" && strings.HasSuffix(r.Kind, "Route")
}

// closes reports whether what a link waits for waits for what the link holds up.
func (n *knot) closes(l link, tied []int) bool {
	from, to := n.ends(l)
	provider := tied[n.at(n.provider(l, to))]
	return slices.ContainsFunc(n.consumers(l, from), func(c thing) bool { return tied[n.at(c)] == provider })
}

// place remembers where an object stands in the sync of its component.
func (n *knot) place(component int, e dependency.End) {
	if n.placed[component] == nil {
		n.placed[component] = map[finding.Resource]dependency.Place{}
	}
	if e.Object.Kind != "" {
		n.placed[component][e.Object] = e.Place
	}
}

// sync finds what the objects of a component wait for by their places: for all that comes
// before and is waited for.
func (n *knot) sync(component int) {
	at := func(moment int) thing { return thing{component: component, moment: moment} }
	n.need(at(applied), at(begun))
	n.need(at(running), at(applied))
	n.need(at(whole), at(running))
	var places []dependency.Place
	for _, p := range n.placed[component] {
		places = append(places, p)
	}
	slices.SortFunc(places, dependency.Place.Compare)
	places = slices.CompactFunc(places, func(p, q dependency.Place) bool { return p.Compare(q) == 0 })
	for i := range places {
		n.need(at(healed+i), at(before(i)))
	}
	health := n.assessed()
	for object, p := range n.placed[component] {
		i, _ := slices.BinarySearchFunc(places, p, dependency.Place.Compare)
		o := thing{component: component, object: object}
		behind := before(i)
		if i == 0 && object.Group == "" && object.Kind == "Namespace" {
			behind = begun // of its wave it is applied first, whatever else is refused
		}
		n.need(o, at(behind))
		n.need(thing{component: component, object: object, moment: applied}, at(behind))
		n.need(at(whole), o)
		if !isRoute(object) {
			n.need(at(running), o)
		}
		if by, known := health[dependency.End{Component: n.enabled[component].Name, Object: object}]; !known || by != "" || p.IsHook {
			n.need(at(healed+i), o)
		}
	}
}

// before is the moment that what stands at a place waits for.
func before(place int) int {
	if place == 0 {
		return applied
	}
	return healed + place - 1
}

// ordered finds the components that wait for others of their circles by the order.
func (n *knot) ordered() {
	members := map[int][]int{}
	for i, circle := range n.circle {
		members[circle] = append(members[circle], i)
	}
	for _, all := range members {
		if len(all) > looked {
			continue
		}
		for _, i := range all {
			for _, j := range all {
				if a, b := n.enabled[i], n.enabled[j]; n.compare(a, b) < 0 && n.parted(a, b) {
					n.need(thing{component: j, moment: begun}, thing{component: i, moment: whole})
				}
			}
		}
	}
}
