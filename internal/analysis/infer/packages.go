package infer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Packages of the Operator Lifecycle Manager: a Subscription brings the CRDs of its
// package, then a ClusterServiceVersion, whose operator runs once that succeeds.
// OLM needs an OperatorGroup in the namespace for it. Source: OLM, "Subscription",
// "OperatorGroup"; operator-lifecycle-manager, pkg/lib/scoped/querier.go.

const (
	olmGroup = "operators.coreos.com"
	// kindOperatorGroup is provided once for each namespace, whatever its name.
	kindOperatorGroup = kindInstance + olmGroup + "/OperatorGroup"
	anyName           = "any"
)

func providesInstallation(o *object, add func(key)) {
	switch {
	case o.is(olmGroup, "CatalogSource"):
		add(instanceKey(o.g, o.k, o.namespace(), o.name))
	case o.is(olmGroup, "OperatorGroup"):
		add(key{Kind: kindOperatorGroup, Namespace: o.namespace(), Name: anyName})
	}
}

// defaultCatalogues are there from the beginning. Source: OpenShift, "Red Hat-provided Operator
// catalogs"; OLM, deploy/upstream.
var defaultCatalogues = []string{"redhat-operators", "certified-operators", "community-operators", "redhat-marketplace", "operatorhubio-catalog"}

func requiresInstallation(_ *world, o *object, add func(need)) {
	if !o.is(olmGroup, "Subscription") {
		return
	}
	// Both are read by OLM, again and again: nothing brings them to Ready.
	if source, ns := text(o.root(), "spec", "source"), text(o.root(), "spec", "sourceNamespace"); source != "" && ns != "" {
		add(need{key: instanceKey(olmGroup, "CatalogSource", ns, source), field: "spec.source", strength: plan.Hard, effect: dependency.Ready, static: true,
			absent: !slices.Contains([]string{"openshift-marketplace", "olm", "operators"}, ns), slip: !slices.Contains(defaultCatalogues, source), verb: "is resolved from CatalogSource " + source})
	}
	if ns := o.namespace(); ns != "" {
		add(need{key: key{Kind: kindOperatorGroup, Namespace: ns, Name: anyName}, field: "spec.name", strength: plan.Hard, effect: dependency.Ready, static: true,
			verb: "is installed by the OperatorGroup of Namespace " + ns})
	}
}

// sharedGroup reports whether many operators, and the cluster itself, have kinds of a
// group, so that one of them tells nothing of the others.
func sharedGroup(group string) bool {
	return group == "operator.openshift.io" || group == "config.openshift.io" || group == "redhatcop.redhat.io"
}

// learnPackages takes in what Subscriptions bring. A Subscription is Healthy once
// the CRDs are there.
func (x *index) learnPackages() {
	if x.in.Package == nil {
		return
	}
	brought := map[string]map[int]bool{}
	x.subscriptions(func(i int, o *object) {
		name := text(o.root(), "spec", "name")
		if brought[name] == nil {
			brought[name] = map[int]bool{}
		}
		brought[name][i] = true
		known, ok := x.in.Package(name)
		if !ok {
			return
		}
		p := provider{component: i, object: o, place: o.place, by: known.Source, position: o.Origin.Position(), basis: finding.Catalogue}
		for _, k := range known.Kinds {
			if id := k.Group + "/" + k.Kind; k.Plural != "" && x.world.plurals[id] == "" {
				x.world.plurals[id] = k.Plural
			}
			x.add(kindKey(k.Group, k.Kind), p)
			x.add(key{Kind: kindCRD, Name: x.world.resource(k.Group, k.Kind) + "." + k.Group}, p)
			x.add(controllerKey(k.Group, k.Kind), p)
			// The version that is installed may bring more.
			if !sharedGroup(k.Group) {
				x.add(kindKey(k.Group, "*"), p)
			}
		}
		for _, group := range known.Groups {
			x.add(kindKey(group, "*"), p)
			x.add(controllerKey(group, "*"), p)
		}
		for _, made := range known.Objects {
			x.learnKnownObject(made, p)
		}
		for _, hook := range known.Webhooks {
			x.knownHooks = append(x.knownHooks, knownHook{KnownWebhook: hook, provider: p, brought: brought[name]})
		}
	})
}

// subscriptions visits those of all components, in their order.
func (x *index) subscriptions(visit func(component int, o *object)) {
	for i, of := range x.objects {
		for _, o := range of {
			if o.is(olmGroup, "Subscription") {
				visit(i, o)
			}
		}
	}
}

// installations lists the operators that Subscriptions install.
func (x *index) installations() []dependency.Installation {
	var out []dependency.Installation
	var groups map[string][]dependency.OperatorGroup
	x.subscriptions(func(i int, o *object) {
		if groups == nil {
			groups = x.operatorGroups()
		}
		ns := o.namespace()
		in := dependency.Installation{
			Subscription: o.end(x.name(i)), Package: text(o.root(), "spec", "name"), Groups: groups[ns],
			Approval: text(o.root(), "spec", "installPlanApproval"), OwnNamespace: len(x.provide[namespaceKey(ns)]) > 0,
		}
		if in.Manual() {
			in.Approved = x.approves()
		}
		if x.in.Package != nil {
			known, _ := x.in.Package(in.Package)
			in.Modes, in.Known = known.Modes, known.Source
		}
		out = append(out, in)
	})
	slices.SortFunc(out, func(a, b dependency.Installation) int { return compareEnds(&a.Subscription, &b.Subscription) })
	return out
}

// operatorGroups are those of each namespace, each once.
func (x *index) operatorGroups() map[string][]dependency.OperatorGroup {
	out := map[string][]dependency.OperatorGroup{}
	for i, of := range x.objects {
		for _, o := range of {
			if !o.is(olmGroup, "OperatorGroup") {
				continue
			}
			g := dependency.OperatorGroup{End: o.end(x.name(i)), Selector: len(mapping(o.root(), "spec", "selector")) > 0}
			for _, target := range list(o.root(), "spec", "targetNamespaces") {
				name, _ := target.(string)
				g.Targets = append(g.Targets, name)
			}
			slices.Sort(g.Targets)
			ns := o.namespace()
			if same := func(h dependency.OperatorGroup) bool { return o.name != "" && h.Object.Name == o.name }; !slices.ContainsFunc(out[ns], same) {
				out[ns] = append(out[ns], g)
			}
		}
	}
	for _, of := range out {
		slices.SortFunc(of, func(a, b dependency.OperatorGroup) int { return compareEnds(&a.End, &b.End) })
	}
	return out
}

// approves reports whether something in the cluster may approve InstallPlans: a role
// that lets it, or a pod or a script that speaks of them.
func (x *index) approves() bool {
	for _, of := range x.objects {
		for _, o := range of {
			switch {
			case o.is("rbac.authorization.k8s.io", "Role", "ClusterRole"):
				found := false
				each(list(o.root(), "rules"), "", func(rule map[string]any, _ string) {
					verbs := list(rule, "verbs")
					found = found || slices.Contains(list(rule, "resources"), any("installplans")) && (holds(verbs, "patch") || holds(verbs, "update"))
				})
				if found {
					return true
				}
			case o.is("", "ConfigMap"):
				if speaksOf(o.root()["data"], "installplan") {
					return true
				}
			default:
				if spec, _ := podSpec(o); spec != nil && speaksOf(spec, "installplan") {
					return true
				}
			}
		}
	}
	return false
}

// speaksOf reports whether a text below a value holds a word, in small letters.
func speaksOf(v any, word string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), word)
	case map[string]any:
		for _, inner := range v {
			if speaksOf(inner, word) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(inner any) bool { return speaksOf(inner, word) })
	}
	return false
}
