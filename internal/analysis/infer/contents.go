package infer

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Contents: the keys of Secrets and ConfigMaps and the listeners of Gateways. That
// one is lacking is said only where all that could bring it is seen: absence
// proves nothing of what is written by others as well.

// ruleKey and ruleListener judge what is lacking in a thing that is there.
const (
	ruleKey      = "key-missing"
	ruleListener = "listener-missing"
)

// part is a part of a required thing that the object names in a field of its own.
type part struct{ name, field string }

// content is what the providers of one thing put into it.
type content struct {
	parts map[string]bool
	// open is set where there may be more than the parts.
	open bool
	by   []provider
}

// fill notes what a provider puts into a thing that has parts.
func (x *index) fill(k key, p provider) {
	if k.Kind != kindSecret && k.Kind != kindConfigMap && k.Kind != kindGateway {
		return
	}
	c := x.contents[k]
	if c == nil {
		c = &content{parts: map[string]bool{}}
		x.contents[k] = c
	}
	c.by = append(c.by, p)
	parts, ok := partsOf(k, p.object)
	c.open = c.open || !ok
	for _, name := range parts {
		c.parts[name] = true
	}
}

// partsOf lists the parts that an object gives a thing. They are not ok where not
// all of them are known.
func partsOf(k key, o *object) (parts []string, ok bool) {
	if o == nil || o.namespace() != k.Namespace || filledLater(o) {
		return nil, false
	}
	root := o.root()
	switch {
	case k.Kind == kindGateway && o.is("gateway.networking.k8s.io", "Gateway"):
		each(list(root, "spec", "listeners"), "", func(l map[string]any, _ string) { parts = append(parts, text(l, "name")) })
	case k.Kind == kindSecret && o.is("", "Secret"), k.Kind == kindConfigMap && o.is("", "ConfigMap"):
		if o.name == k.Name && text(root, "type") != "kubernetes.io/service-account-token" {
			parts = slices.Concat(sortedKeys(mapping(root, "data")), sortedKeys(mapping(root, "stringData")), sortedKeys(mapping(root, "binaryData")))
		}
	case k.Kind == kindSecret && o.is("external-secrets.io", "ExternalSecret"):
		parts = externalKeys(mapping(root, "spec"))
	case k.Kind == kindSecret && o.is("bitnami.com", "SealedSecret"):
		parts = slices.Concat(sortedKeys(mapping(root, "spec", "encryptedData")), sortedKeys(mapping(root, "spec", "template", "data")))
	}
	return parts, len(parts) > 0 && !slices.ContainsFunc(parts, func(name string) bool { return !partName(name) })
}

// externalKeys are those of the Secret that the External Secrets Operator makes;
// nil where the store decides. Source: its guide "Advanced Templating": the data
// of a template replace those that are read, unless mergePolicy is Merge.
func externalKeys(spec map[string]any) []string {
	template := mapping(spec, "target", "template")
	if len(list(template, "templateFrom")) > 0 || mapping(spec, "target", "manifest") != nil {
		return nil
	}
	keys := sortedKeys(mapping(template, "data"))
	if len(keys) > 0 && text(template, "mergePolicy") != "Merge" {
		return keys
	}
	if len(list(spec, "dataFrom")) > 0 {
		return nil
	}
	each(list(spec, "data"), "", func(d map[string]any, _ string) { keys = append(keys, text(d, "secretKey")) })
	return keys
}

// filledLater reports whether something else may put data into an object: its
// annotations or labels ask for it, it is one that Argo CD or Kubernetes itself
// writes to.
func filledLater(o *object) bool {
	if strings.HasPrefix(o.name, "argocd-") || systemNamespace(o.namespace()) && (o.namespace() != "default" || strings.HasPrefix(o.name, "kube-")) && !o.is("gateway.networking.k8s.io", "Gateway") {
		return true
	}
	for _, field := range []string{"annotations", "labels"} {
		for name := range mapping(o.root(), "metadata", field) {
			if slices.ContainsFunc([]string{"inject", "replicat", "reflect", "generat", "copy", "clone", "merge", "patch"},
				func(word string) bool { return strings.Contains(name, word) }) {
				return true
			}
		}
	}
	return false
}

// partName reports whether a text can be a key of a Secret or the name of a
// listener, and is no placeholder.
func partName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
	})
}

// checkParts finds which of the parts that an object names are lacking.
func (x *index) checkParts(found *collection, o *object, n need) {
	c := x.contents[n.key]
	if c == nil || c.open || n.key.Namespace == "" || idle(o) && (o.k != "CronJob" || truth(o.root(), "spec", "suspend")) {
		return
	}
	for _, p := range n.parts {
		if !c.parts[p.name] && partName(p.name) && x.closed(n.key, o, c) {
			found.lack(o, n, p, c)
		}
	}
}

// closed reports whether nothing that is seen may add to a thing, and all that
// provides it is known to the last value. The answer is kept: it is asked for
// little, and looks at everything.
func (x *index) closed(k key, consumer *object, c *content) bool {
	asked := lackKey{consumer: consumer.component, key: k}
	if closed, ok := x.shut[asked]; ok {
		return closed
	}
	_, mirrored := x.contents[key{Kind: k.Kind, Namespace: everyNamespace, Name: k.Name}]
	closed := !mirrored && x.whole(consumer.component, k)
	for _, p := range c.by {
		closed = closed && x.whole(p.component, k) && !ignores(&x.in.Components[p.component], k)
	}
	for i := range x.objects {
		closed = closed && (k.Kind == kindGateway || !slices.ContainsFunc(x.objects[i], func(o *object) bool { return writes(o, k, consumer, c) }))
	}
	x.shut[asked] = closed
	return closed
}

// whole reports whether what a component has to do with a thing is rendered with
// all values. What is not rendered of it may hold programs that write to Secrets
// and ConfigMaps; nothing writes listeners.
func (x *index) whole(i int, k key) bool {
	c := &x.in.Components[i]
	return !c.Assumed && (k.Kind == kindGateway || !slices.Contains(x.partial, i)) &&
		!slices.ContainsFunc(c.Sources, func(s model.Source) bool { return s.Incomplete != "" })
}

// ignores reports whether a component leaves the content of a thing to others, as
// its ignoreDifferences say.
func ignores(c *model.Component, k key) bool {
	for _, d := range c.IgnoreDifferences {
		if d.Kind != judged[k.Kind].kind && d.Kind != "*" || d.Name != "" && d.Name != k.Name {
			continue
		}
		if len(d.JQPathExpressions)+len(d.ManagedFieldsManagers) > 0 || slices.ContainsFunc(d.JSONPointers, func(p string) bool {
			return k.Kind != kindGateway || p == "/spec" || p == "/spec/listeners"
		}) {
			return true
		}
	}
	return false
}

// writes reports whether an object may be why something is added to a Secret or
// ConfigMap: a role to change it beside its users, or a custom resource that names
// it.
func writes(o *object, k key, consumer *object, c *content) bool {
	if o.g == "rbac.authorization.k8s.io" {
		beside := o.component == consumer.component || o.k == "Role" && o.namespace() == k.Namespace ||
			slices.ContainsFunc(c.by, func(p provider) bool { return p.component == o.component })
		return beside && mayChange(o, k)
	}
	if o.is("external-secrets.io", "ExternalSecret") && (o.namespace() != k.Namespace || cmp.Or(text(o.root(), "spec", "target", "name"), o.name) != k.Name) {
		return false // it writes to the Secret that it makes, and to no other
	}
	if !customGroup(o.g) || slices.ContainsFunc(c.by, func(p provider) bool { return p.object == o }) {
		return false
	}
	// One of another namespace that speaks of no namespaces names what is in its own.
	return names(o.root(), k.Name) && (o.namespace() == "" || o.namespace() == k.Namespace || ofNamespaces(o.root()["spec"]))
}

// ofNamespaces reports whether a value has a field that tells of namespaces.
func ofNamespaces(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, ofNamespaces)
	case map[string]any:
		for name, e := range v {
			if strings.Contains(strings.ToLower(name), "namespace") || ofNamespaces(e) {
				return true
			}
		}
	}
	return false
}

// mayChange reports whether a role allows to change a Secret or ConfigMap.
func mayChange(role *object, k key) bool {
	resource := k.Kind + "s"
	return slices.ContainsFunc(list(role.root(), "rules"), func(r any) bool {
		rule, _ := r.(map[string]any)
		verbs, named := list(rule, "verbs"), list(rule, "resourceNames")
		return holds(list(rule, "apiGroups"), "") && holds(list(rule, "resources"), resource) &&
			(holds(verbs, "update") || holds(verbs, "patch")) && (len(named) == 0 || slices.Contains(named, any(k.Name)))
	})
}

// names reports whether a value holds a text; what is only read under the name does not
// count.
func names(v any, name string) bool {
	switch v := v.(type) {
	case string:
		return v == name
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return names(e, name) })
	case map[string]any:
		for field, e := range v {
			if field != valueFrom && names(e, name) {
				return true
			}
		}
	}
	return false
}

// lackKey keeps one lack for each part that a component requires.
type lackKey struct {
	consumer int
	key      key
	part     string
}

// lack records a part that is not there, once for each component.
func (c *collection) lack(o *object, n need, p part, in *content) {
	d := dependency.Lack{
		Rule: ruleKey, Required: c.x.world.required(n.key), Part: p.name, Strength: n.strength, Consumer: o.end(c.x.name(o.component)),
	}
	what := d.Required.Human()
	verb := "reads key " + p.name + " of " + what
	if n.key.Kind == kindGateway {
		d.Rule, verb = ruleListener, "is attached to listener "+p.name+" of "+what
	}
	if !c.x.assessed(o) || idle(o) {
		d.Strength = plan.Soft
	}
	d.Reason, d.Evidence = verb, []finding.Evidence{required(o, verb, p.field)}
	d.Has = slices.Sorted(maps.Keys(in.parts))
	providers := c.x.sorted(in.by)
	d.Provider = c.x.end(providers[0])
	for _, by := range providers {
		d.Evidence = append(d.Evidence, c.x.provided(by))
	}
	k := lackKey{o.component, n.key, p.name}
	have, ok := c.lacks[k]
	if !ok || compareLacks(&d, &have) < 0 {
		c.lacks[k] = d
	}
}

// sorted are providers in the order of their components and files.
func (x *index) sorted(by []provider) []provider {
	return slices.SortedStableFunc(slices.Values(by), func(a, b provider) int {
		first, second := x.end(a), x.end(b)
		return compareEnds(&first, &second)
	})
}

func compareLacks(a, b *dependency.Lack) int {
	if n := compareStrength(a.Strength, b.Strength); n != 0 {
		return n
	}
	if n := compareEnds(&a.Consumer, &b.Consumer); n != 0 {
		return n
	}
	return strings.Compare(a.Evidence[0].Field, b.Evidence[0].Field)
}

func (c *collection) sortedLacks() []dependency.Lack {
	return slices.SortedFunc(maps.Values(c.lacks), byConsumer)
}

// byConsumer puts what is lacking into the order in which it is told.
func byConsumer(a, b dependency.Lack) int {
	return cmp.Or(compareEnds(&a.Consumer, &b.Consumer), strings.Compare(a.Rule, b.Rule), compareResources(a.Required, b.Required), strings.Compare(a.Part, b.Part))
}
