package orphans

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Find finds the orphans of a ladder. An error means that the cluster could not be
// asked at all; what it would not tell is in the report.
func (c *Cluster) Find(ctx context.Context, l Ladder) (Report, error) {
	kinds, unreadable, err := c.kinds(ctx)
	if err != nil {
		return Report{}, err
	}
	scope := map[schema.GroupKind]bool{}
	for _, k := range kinds {
		scope[k.GroupKind()] = k.namespaced
	}
	x := newIndex(l, func(gk schema.GroupKind) (bool, bool) {
		in, known := scope[gk]
		return in, known
	})
	s, err := c.read(ctx, kinds, x.namespaces, func(gk schema.GroupKind) bool { return x.kinds[gk] })
	if err != nil {
		return Report{}, err
	}
	s.unreadable = append(unreadable, s.unreadable...)
	sortUnreadable(s.unreadable)
	r := Report{
		FormatVersion: FormatVersion, Environment: l.Environment, Cluster: c.Name,
		Namespaces: x.namespaces, LeftOut: x.leftOut, Ignored: map[string]int{},
		Unreadable: s.unreadable, Unrendered: slices.Clone(l.Unrendered),
	}
	left := x.sift(s, &r)
	if len(left) > 0 {
		k := c.learn(ctx, x, s)
		for _, o := range left {
			advice := x.advise(o, k)
			if !o.kind.namespaced && !x.tied(advice.Origin) && advice.Action != Adopt {
				r.Untied = append(r.Untied, o.resource)
				continue
			}
			r.Orphans = append(r.Orphans, advice)
		}
	}
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	r.fill()
	r.Complete = len(r.Unreadable) == 0 && len(r.Unrendered) == 0
	return r, nil
}

// fill makes empty lists of those that are not there.
func (r *Report) fill() {
	for _, l := range []*[]string{&r.Namespaces, &r.LeftOut, &r.Unrendered} {
		if *l == nil {
			*l = []string{}
		}
	}
	if r.Orphans == nil {
		r.Orphans = []Orphan{}
	}
	if r.Untied == nil {
		r.Untied = []finding.Resource{}
	}
	if r.Unreadable == nil {
		r.Unreadable = []Unreadable{}
	}
}

// sift takes out what is no orphan, and counts it.
func (x *index) sift(s *survey, r *Report) []live {
	sets := map[string][]string{}
	for _, o := range s.objects {
		if o.kind.GroupKind() == (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
			sets[o.Namespace] = append(sets[o.Namespace], o.Name)
		}
	}
	var left []live
	for _, o := range s.objects {
		switch {
		case x.renders(o.resource) != "":
			r.Rendered++
		case len(o.OwnerReferences) > 0:
			r.Children++
		default:
			if why := x.ignored(o, sets); why != "" {
				r.Ignored[why]++
				continue
			}
			left = append(left, o)
		}
	}
	return left
}

// learn asks the cluster and the repository what tells more about orphans.
func (c *Cluster) learn(ctx context.Context, x *index, s *survey) *knowledge {
	k := &knowledge{releases: map[[2]string]bool{}, scopes: c.scopes(ctx), applications: c.applications(ctx), instanceLabels: c.instanceLabels(ctx, x.ArgoNamespaces), there: map[finding.Resource]bool{}, disabled: map[finding.Resource]string{}}
	hidden := map[string]bool{}
	for _, u := range s.unreadable {
		if u.Kind == "Secret" {
			hidden[u.Namespace] = true
		}
	}
	k.releasesKnown = func(namespace string) bool {
		_, looked := slices.BinarySearch(x.namespaces, namespace)
		return looked && !hidden[namespace] && !hidden[""]
	}
	for _, o := range s.objects {
		k.there[o.resource] = true
		if helmStorage(o) && o.Labels["name"] != "" && o.Labels["status"] != "uninstalled" {
			k.releases[[2]string{o.Namespace, o.Labels["name"]}] = true
		}
	}
	if x.Disabled == nil {
		return k
	}
	for _, component := range x.Components {
		if component.Enabled || ctx.Err() != nil {
			continue
		}
		for _, o := range x.Disabled(component.Name) {
			r := o.Resource()
			for _, namespace := range []string{r.Namespace, ""} { // whether the kind has one
				r.Namespace = namespace
				k.disabled[r] = component.Name
			}
		}
	}
	return k
}

// scopes are the platforms of the components that rollouts applied, by component.
func (c *Cluster) scopes(ctx context.Context) map[string][]string {
	out := map[string][]string{}
	maps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	list, err := c.dynamic.Resource(maps).Namespace(stateNamespace).List(ctx, metav1.ListOptions{LabelSelector: "ladder.rollout-ladder.dev/inventory=true"})
	if err != nil {
		return out // then nothing is said to be of this platform
	}
	for _, item := range list.Items {
		text, _, _ := unstructured.NestedString(item.Object, "data", "inventory.json")
		var inventory struct{ Component, Scope string }
		if json.Unmarshal([]byte(text), &inventory) == nil {
			out[inventory.Component] = append(out[inventory.Component], inventory.Scope)
		}
	}
	return out
}

// applications are the names of the live Applications, in any namespace; nil where
// they cannot be listed.
func (c *Cluster) applications(ctx context.Context) map[string]bool {
	applications := schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	objects, err := c.list(ctx, kind{resource: applications}, "")
	if err != nil && !apierrors.IsNotFound(err) {
		return nil
	}
	out := map[string]bool{}
	for _, o := range objects {
		out[o.Name] = true
	}
	return out
}

// instanceLabels are the labels in which Argo CD marks who applies an object: those of its
// settings, as far as they can be listed, before the default. Only its own namespaces count:
// with a ConfigMap of that name elsewhere, a tenant could have objects of others look left over.
func (c *Cluster) instanceLabels(ctx context.Context, namespaces []string) []string {
	byDefault := status.InstanceLabel(nil)
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	var own []string
	for _, namespace := range namespaces {
		list, err := c.dynamic.Resource(configMaps).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=argocd-cm"})
		if err != nil {
			continue
		}
		for _, item := range list.Items {
			data, _, err := unstructured.NestedStringMap(item.Object, "data")
			if label := status.InstanceLabel(data); err == nil && label != byDefault {
				own = append(own, label)
			}
		}
	}
	slices.Sort(own)
	return append(slices.Compact(own), byDefault)
}

// Counts are the orphans by what is proposed.
func (r Report) Counts() map[Action]int {
	out := map[Action]int{}
	for _, o := range r.Orphans {
		out[o.Action]++
	}
	return out
}

// ignoredTotal counts what is ignored.
func (r Report) ignoredTotal() (n int, reasons string) {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(r.Ignored)) {
		n += r.Ignored[why]
		parts = append(parts, finding.Count(r.Ignored[why], "object")+" "+why)
	}
	return n, strings.Join(parts, ", ")
}
