package infer

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// Webhooks: an object that a fail-closed webhook intercepts is refused while
// the pods behind the webhook are not ready.

// webhook is one entry of a webhook configuration that refuses when it is down.
type webhook struct {
	configuration object
	name, field   string
	rules         []any
	namespaces    *metav1.LabelSelector
	objects       *metav1.LabelSelector
	service       key
}

// webhooks finds the objects that webhooks of other components intercept.
func (x *index) webhooks() []plan.Edge {
	var edges []plan.Edge
	for _, hook := range x.failClosed() {
		p, ok := x.find(hook.service, hook.configuration.component)
		if !ok {
			// Its Service is made by something that is not rendered; whoever
			// configures the webhook runs it.
			p = provider{hook.configuration.component, hook.configuration.Resource().Human(), hook.configuration.Origin.Position()}
		}
		for i := range x.in.Components {
			if i == p.component || i == hook.configuration.component {
				continue
			}
			if e, ok := x.intercepted(hook, i, p); ok {
				edges = append(edges, e)
			}
		}
	}
	return edges
}

func (x *index) failClosed() []webhook {
	var out []webhook
	for _, of := range x.objects {
		for _, o := range of {
			if !o.is("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration") {
				continue
			}
			each(list(o.Object.Object, "webhooks"), "webhooks", func(m map[string]any, path string) {
				service := mapping(m, "clientConfig", "service")
				// What a CEL condition lets through is not decided here.
				if service == nil || text(m, "failurePolicy") == "Ignore" || len(list(m, "matchConditions")) > 0 {
					return
				}
				hook := webhook{configuration: o, name: text(m, "name"), field: path, rules: list(m, "rules"),
					service: serviceKey(text(service, "namespace"), text(service, "name"))}
				var ok bool
				if hook.namespaces, ok = selector(mapping(m, "namespaceSelector")); !ok {
					return
				}
				if hook.objects, ok = selector(mapping(m, "objectSelector")); !ok {
					return
				}
				out = append(out, hook)
			})
		}
	}
	return out
}

// selector reads a label selector; nil selects everything, and one that cannot
// be read is not ok.
func selector(m map[string]any) (*metav1.LabelSelector, bool) {
	if len(m) == 0 {
		return nil, true
	}
	var s metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &s); err != nil {
		return nil, false
	}
	return &s, true
}

// intercepted finds the first object of a component that a webhook intercepts.
func (x *index) intercepted(hook webhook, consumer int, p provider) (plan.Edge, bool) {
	for _, o := range x.objects[consumer] {
		custom, ok := x.matches(hook, o)
		// A webhook on kinds of Kubernetes itself, or on all kinds, intercepts
		// only what is applied after it: nothing earlier has to wait for it.
		if !ok || !custom && consumer < hook.configuration.component {
			continue
		}
		from, to := x.in.Components[consumer].Name, x.in.Components[p.component].Name
		verb := "is admitted by webhook " + hook.name
		return plan.Edge{From: from, To: to, Strength: plan.Hard, Basis: finding.Rendered, Reason: verb,
			Evidence: []finding.Evidence{
				{Text: o.Resource().Human() + " " + verb, File: o.Origin.File, Line: o.Origin.Line, Object: o.Resource().String(), Field: "kind"},
				{Text: hook.configuration.Resource().Human() + " refuses while its Service does not answer", File: hook.configuration.Origin.File,
					Line: hook.configuration.Origin.Line, Object: hook.configuration.Resource().String(), Field: hook.field},
				{Text: "provided by " + p.by + " of " + to, File: p.position.File, Line: p.position.Line},
			}}, true
	}
	return plan.Edge{}, false
}

// matches reports whether a webhook is certain to be asked about an object that
// is created. custom says that a rule names the custom group of the object.
func (x *index) matches(hook webhook, o object) (custom, ok bool) {
	if o.is("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration") {
		return false, false // never intercepted
	}
	custom, ok = x.ruled(hook.rules, o)
	if !ok || !selects(hook.objects, o.GetLabels()) {
		return false, false
	}
	if hook.namespaces == nil {
		return custom, true
	}
	name := o.namespace()
	if o.is("", "Namespace") {
		name = o.GetName()
	}
	if name == "" {
		return custom, true // the selector does not apply to cluster-wide objects
	}
	known, defined := x.world.labels[name]
	if !defined && !onlyName(hook.namespaces) {
		return false, false
	}
	set := map[string]string{"kubernetes.io/metadata.name": name}
	for k, v := range known {
		set[k] = v
	}
	return custom, selects(hook.namespaces, set)
}

// onlyName reports whether a selector looks at the name of a namespace alone.
func onlyName(s *metav1.LabelSelector) bool {
	for k := range s.MatchLabels {
		if k != "kubernetes.io/metadata.name" {
			return false
		}
	}
	return !slices.ContainsFunc(s.MatchExpressions, func(e metav1.LabelSelectorRequirement) bool {
		return e.Key != "kubernetes.io/metadata.name"
	})
}

func selects(s *metav1.LabelSelector, set map[string]string) bool {
	if s == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && parsed.Matches(labels.Set(set))
}

func (x *index) ruled(rules []any, o object) (custom, ok bool) {
	group, kind := o.group(), o.GetKind()
	resource := x.world.resource(group, kind)
	each(rules, "", func(rule map[string]any, _ string) {
		switch text(rule, "scope") {
		case "Cluster":
			if o.namespace() != "" {
				return
			}
		case "Namespaced":
			if o.namespace() == "" {
				return
			}
		}
		operations := list(rule, "operations")
		if !holds(operations, "CREATE") {
			return
		}
		groups := list(rule, "apiGroups")
		if !holds(groups, group) || !holds(list(rule, "apiVersions"), o.GroupVersionKind().Version) {
			return
		}
		if !slices.ContainsFunc(list(rule, "resources"), func(v any) bool {
			name, _ := v.(string)
			return name == "*" || name == "*/*" || strings.EqualFold(name, resource)
		}) {
			return
		}
		ok = true
		custom = custom || !builtinGroup(group) && slices.Contains(groups, any(group))
	})
	return custom, ok
}

func holds(values []any, want string) bool {
	return slices.Contains(values, any(want)) || slices.Contains(values, any("*"))
}
