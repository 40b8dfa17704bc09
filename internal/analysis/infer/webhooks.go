package infer

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Webhooks: an object that a fail-closed webhook intercepts is refused while
// the pods behind the webhook are not ready.

// webhook is one entry of a webhook configuration that refuses when it is down.
type webhook struct {
	configuration *object
	name, field   string
	rules         []any
	namespaces    labels.Selector // nil selects everything
	onlyName      bool            // namespaces looks at their names alone
	objects       labels.Selector
	provider      provider
}

// knownHook is a webhook by the word of a catalogue.
type knownHook struct {
	KnownWebhook
	provider provider
	// placed is set where waves or hooks may be written on its workload.
	placed bool
	// brought are the components that bring the webhook as well: two that have the
	// same Subscription. nil where it is one.
	brought map[int]bool
}

// typeKey is what the rules of a webhook tell objects apart by.
type typeKey struct {
	group, version, kind string
	clusterWide          bool
}

// webhooks finds the objects that webhooks intercept.
func (x *index) webhooks(found *collection) {
	hooks := x.failClosed()
	conversions := x.conversions()
	if len(hooks) == 0 && len(conversions) == 0 && len(x.knownHooks) == 0 {
		return
	}
	x.bringers = bringersOf(hooks, x.knownHooks)
	types := map[typeKey][]*object{}
	for _, of := range x.objects {
		for _, o := range of {
			if !o.is("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration") { // never intercepted
				k := typeKey{o.g, o.v, o.k, o.namespace() == ""}
				types[k] = append(types[k], o)
			}
		}
	}
	for _, hook := range hooks {
		for k, objects := range types {
			if custom, ok := x.ruled(hook.rules, k); ok {
				x.intercept(found, hook, objects, custom, false)
			}
			// Pods that a workload makes are intercepted as well.
			if _, ok := x.ruled(hook.rules, typeKey{version: "v1", kind: "Pod"}); ok && k.kind != "Pod" {
				x.intercept(found, hook, objects, false, true)
			}
		}
	}
	for _, c := range conversions {
		for k, objects := range types {
			if k.group == c.group && k.kind == c.kind && c.stored != "" && k.version != c.stored {
				x.convert(found, c, objects)
			}
		}
	}
	for _, hook := range x.knownHooks {
		for k, objects := range types {
			if k.group == hook.Group && (len(hook.Kinds) == 0 || slices.Contains(hook.Kinds, k.kind)) {
				x.interceptKnown(found, hook, objects)
			}
		}
	}
}

// bringersOf are the components that bring a webhook, by its name: a copy of one for each
// cluster has a webhook of its own, and waits for that of no other.
func bringersOf(hooks []webhook, known []knownHook) map[string]map[int]bool {
	all := map[string]map[int]bool{}
	add := func(name string, component int) {
		if all[name] == nil {
			all[name] = map[int]bool{}
		}
		all[name][component] = true
	}
	for _, hook := range hooks {
		add(hook.name, hook.configuration.component)
	}
	for _, hook := range known {
		add(hook.Name, hook.provider.component)
	}
	return all
}

func makesPods(o *object) bool {
	spec, _ := podSpec(o)
	return spec != nil
}

func (x *index) failClosed() []webhook {
	var out []webhook
	for _, of := range x.objects {
		for _, o := range of {
			if !o.is("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration") {
				continue
			}
			each(list(o.root(), "webhooks"), "webhooks", func(m map[string]any, path string) {
				service := mapping(m, "clientConfig", "service")
				// What a CEL condition lets through is not decided here.
				if service == nil || text(m, "failurePolicy") == "Ignore" || len(list(m, "matchConditions")) > 0 {
					return
				}
				hook := webhook{configuration: o, name: text(m, "name"), field: path, rules: list(m, "rules")}
				var ok, also bool
				hook.namespaces, hook.onlyName, ok = selector(mapping(m, "namespaceSelector"))
				hook.objects, _, also = selector(mapping(m, "objectSelector"))
				if ok && also {
					hook.provider = x.behind(serviceKey(text(service, "namespace"), text(service, "name")), o)
					out = append(out, hook)
				}
			})
		}
	}
	return out
}

// behind finds the workload behind the Service of a webhook. Where the Service is
// made by something that is not rendered, whoever configures the webhook runs it.
func (x *index) behind(service key, configuration *object) provider {
	p, ok := x.find(service, configuration.component, configuration.place)
	if !ok {
		return provider{component: configuration.component, object: configuration, place: configuration.place, position: configuration.Origin.Position(), basis: finding.Rendered}
	}
	return x.workload(p)
}

// workload is what runs the pods of a Service, of the component of the Service where several
// do; the Service itself where nothing is known to.
func (x *index) workload(p provider) provider {
	if p.object == nil || !p.object.is("", "Service") {
		return p
	}
	wanted := mapping(p.object.root(), "spec", "selector")
	if len(wanted) == 0 {
		return p
	}
	var best *object
	for _, o := range x.world.workloads[p.object.namespace()] {
		have := podLabels(o)
		if matches := !slices.ContainsFunc(sortedKeys(wanted), func(k string) bool { return have[k] != wanted[k] }); !matches {
			continue
		}
		if best == nil || best.component != p.component && o.component == p.component {
			best = o
		}
	}
	if best == nil {
		return p
	}
	return provider{component: best.component, object: best, place: best.place, position: best.Origin.Position(), basis: finding.Rendered}
}

// selector reads a label selector; nil selects everything, and one that cannot
// be read is not ok. onlyName is set where it looks at the name of a namespace
// alone.
func selector(m map[string]any) (s labels.Selector, onlyName, ok bool) {
	if len(m) == 0 {
		return nil, true, true
	}
	var written metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &written); err != nil {
		return nil, false, false
	}
	s, err := metav1.LabelSelectorAsSelector(&written)
	if err != nil {
		return nil, false, false
	}
	requirements, _ := s.Requirements()
	return s, !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return r.Key() != nameLabel }), true
}

// nameLabel is on every namespace. Source: Kubernetes, "Automatic labelling".
const nameLabel = "kubernetes.io/metadata.name"

// intercept records the objects of one type that a webhook is certain to be asked
// about. custom says that a rule names their custom group; pods that the webhook
// looks at the pods they make.
func (x *index) intercept(found *collection, hook webhook, objects []*object, custom, pods bool) {
	last := -1
	for _, o := range objects {
		if o.component == last && o.component != hook.provider.component {
			continue // the first object of another component speaks for all
		}
		if o.component != hook.configuration.component && x.bringers[hook.name][o.component] {
			continue
		}
		strength, ok := x.awaits(hook.configuration, hook.provider, o, custom, pods)
		if !ok || !x.selects(hook, o, pods) {
			continue
		}
		last = o.component
		n := interception{verb: "is admitted by webhook " + hook.name, strength: strength, effect: dependency.Apply}
		if pods {
			n.verb, n.effect = "makes pods that are admitted by webhook "+hook.name, dependency.Ready
		}
		r := hook.configuration.resource()
		x.intercepted(found, o, n, r, hook.provider, finding.Evidence{Text: r.Human() + " refuses while its Service does not answer",
			File: hook.configuration.Origin.File, Line: hook.configuration.Origin.Line, Object: r.String(), Field: hook.field})
	}
}

// awaits reports whether an object meets a webhook at all, and how much it needs
// it. What is applied before the webhook is configured passes unseen: for objects
// of Kubernetes' own kinds that is all there is to say; a custom resource then
// misses its defaults and checks.
func (x *index) awaits(configuration *object, p provider, o *object, custom, pods bool) (plan.Strength, bool) {
	if p.object == o {
		return "", false
	}
	var order int
	if o.component == configuration.component {
		if order = o.place.Compare(configuration.place); order == 0 {
			// Inside a wave kinds have an order, and objects of the last ones that
			// of their names.
			if order = cmp.Compare(o.place.Kind, configuration.place.Kind); order == 0 {
				order = strings.Compare(o.name, configuration.name)
			}
		}
		if order < 0 {
			return "", false
		}
	} else {
		order = x.in.Order(&x.in.Components[o.component], &x.in.Components[configuration.component])
	}
	switch {
	case pods && (o.component == p.component || order <= 0 || !makesPods(o)):
		return "", false
	case !custom && !pods && order <= 0:
		return "", false
	case order < 0:
		return plan.Soft, true
	case pods:
		return podStrength(o), true
	default:
		return plan.Hard, true
	}
}

type interception struct {
	verb     string
	strength plan.Strength
	effect   dependency.Effect
}

func (x *index) intercepted(found *collection, o *object, n interception, configuration finding.Resource, p provider, how finding.Evidence) {
	found.add(&dependency.Dependency{
		Rule: ruleWebhook, Required: configuration, Strength: n.strength, Effect: n.effect, Basis: p.basis, Reason: n.verb,
		Consumer: o.end(x.name(o.component)), Provider: x.end(p),
		Evidence: []finding.Evidence{required(o, n.verb, "kind"), how, x.provided(p)},
	}, o.component, p.component, n.strength)
}

func (x *index) interceptKnown(found *collection, hook knownHook, objects []*object) {
	r := finding.Resource{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration", Name: hook.Name}
	verb, registered := "is admitted by webhook "+hook.Name, "registers webhook "+hook.Name+", which refuses while it does not answer"
	if hook.Several {
		verb, registered = "is admitted by a webhook of "+x.name(hook.provider.component), "registers webhooks, which refuse while they do not answer"
	}
	for _, o := range objects {
		if o.component == hook.provider.component && !hook.meets(o) || hook.brought[o.component] {
			continue
		}
		if o.component != hook.provider.component && x.bringers[hook.Name][o.component] {
			continue
		}
		n := interception{verb: verb, strength: plan.Hard, effect: dependency.Apply}
		if x.in.Order(&x.in.Components[o.component], &x.in.Components[hook.provider.component]) < 0 {
			if !customGroup(hook.Group) {
				continue
			}
			n.strength = plan.Soft
		} else if !customGroup(hook.Group) && x.in.Order(&x.in.Components[o.component], &x.in.Components[hook.provider.component]) == 0 {
			continue
		}
		x.intercepted(found, o, n, r, hook.provider, finding.Evidence{Text: hook.provider.by + " " + registered,
			File: hook.provider.position.File, Line: hook.provider.position.Line})
	}
}

// meets reports whether an object of the component that brings a webhook is
// certain to meet it while its pods are not up. The chart is applied in wave 0,
// where custom resources and the configuration are among the last, in the order of
// their names; what comes before it passes unseen. What an operator registers by
// itself it answers as well.
func (h *knownHook) meets(o *object) bool {
	return !h.placed && !h.AtRuntime && customGroup(h.Group) && o.place.Compare(h.provider.place) == 0 &&
		h.Configuration != "" && o.name > h.Configuration
}

// selects reports whether the selectors of a webhook are certain to select an
// object, or the pods it makes.
func (x *index) selects(hook webhook, o *object, pods bool) bool {
	if hook.objects != nil {
		set := labels.Set(o.GetLabels())
		if pods {
			set = labels.Set{}
			for k, v := range podLabels(o) {
				if s, ok := v.(string); ok {
					set[k] = s
				}
			}
		}
		if !hook.objects.Matches(set) {
			return false
		}
	}
	if hook.namespaces == nil {
		return true
	}
	name := o.namespace()
	if o.is("", "Namespace") {
		name = o.name
	}
	if name == "" {
		return true // the selector does not apply to cluster-wide objects
	}
	known, defined := x.world.labels[name]
	if !defined && !hook.onlyName {
		return false
	}
	set := labels.Set{nameLabel: name}
	maps.Copy(set, known)
	return hook.namespaces.Matches(set)
}

// ruled reports whether the rules of a webhook are about creating objects of a
// type; custom says that one names their custom group. Source: Kubernetes,
// apiserver, admission/plugin/webhook/predicates/rules.
func (x *index) ruled(rules []any, t typeKey) (custom, ok bool) {
	resources := x.world.resources(t.group, t.kind)
	each(rules, "", func(rule map[string]any, _ string) {
		switch scope := text(rule, "scope"); {
		case scope == "Cluster" && !t.clusterWide, scope == "Namespaced" && t.clusterWide:
			return
		}
		groups := list(rule, "apiGroups")
		if !holds(list(rule, "operations"), "CREATE") || !holds(groups, t.group) || !holds(list(rule, "apiVersions"), t.version) {
			return
		}
		if !slices.ContainsFunc(list(rule, "resources"), func(v any) bool {
			text, _ := v.(string)
			name, sub, _ := strings.Cut(text, "/")
			return (sub == "" || sub == "*") && (name == "*" || slices.Contains(resources, name))
		}) {
			return
		}
		ok = true
		custom = custom || customGroup(t.group) && slices.Contains(groups, any(t.group))
	})
	return custom, ok
}

func holds(values []any, want string) bool {
	return slices.Contains(values, any(want)) || slices.Contains(values, any("*"))
}
