package infer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// there reports whether a thing may well be there before the provider that was
// found, which does not come in time: the namespaces that Argo CD itself runs in and that
// the cluster comes with, its own Services, and kinds that an earlier component for CRDs may bring
// that nobody knows the content of.
func (x *index) there(k key, consumer int, p provider) bool {
	c := &x.in.Components[consumer]
	if k.Kind == kindService && x.ofArgo(k) {
		return true
	}
	if p.component == consumer || k.Kind != kindNamespace && k.Kind != kindKind || x.in.Order(&x.in.Components[p.component], c) < 0 {
		return false
	}
	if k.Kind == kindNamespace {
		return !c.PreArgo && (slices.Contains(x.in.Existing, k.Name) || argoNamespace(k.Name) || distributed(k.Name)) || x.isSpread(k)
	}
	for _, u := range x.unseen {
		if order := x.in.Order(&x.in.Components[u.component], c); u.component != p.component && order <= 0 &&
			x.mayBring(u, k, &x.in.Components[p.component]) {
			return true
		}
	}
	return false
}

// isSpread reports whether something in another cluster makes a namespace in all that it manages:
// the projects and workspaces of Kommander. Source: Nutanix Kubernetes Platform, "Projects".
func (x *index) isSpread(k key) bool {
	return slices.ContainsFunc(x.clusters, func(other *index) bool {
		return other != x && slices.ContainsFunc(other.provide[k], func(p provider) bool { return p.object != nil && p.object.g == "workspaces.kommander.mesosphere.io" })
	})
}

// unseen is a component for CRDs of which nobody knows all kinds. groups are those that
// it is known to bring kinds of; all says that there are no others.
type unseen struct {
	component int
	groups    []string
	all       bool
}

func unseenOf(component int, known Known) unseen {
	u := unseen{component: component, all: len(known.Kinds) > 0 && !known.Foreign}
	for _, k := range known.Kinds {
		u.groups = append(u.groups, k.Group)
	}
	return u
}

// mayBring reports whether a component for CRDs may bring a kind that another is
// seen to bring: it is known to bring others of the group; or it may bring other groups,
// and its names say nothing, or share a word with the group or with that component, as do
// its groups.
func (x *index) mayBring(u unseen, k key, seen *model.Component) bool {
	group, _, _ := strings.Cut(k.Name, "/")
	if u.all || slices.Contains(u.groups, group) {
		return slices.Contains(u.groups, group)
	}
	other := slices.Concat(nameWords(seen), wordsOf(group))
	own := nameWords(&x.in.Components[u.component])
	if len(own) == 0 {
		return true
	}
	for _, known := range u.groups {
		own = append(own, wordsOf(known)...)
	}
	return slices.ContainsFunc(own, func(word string) bool { return slices.Contains(other, word) })
}

func nameWords(c *model.Component) []string {
	words := wordsOf(c.Name)
	for _, s := range c.Sources {
		words = append(words, wordsOf(s.Name)...)
	}
	return words
}

// wordsOf cuts a name into words, without those that tell nothing.
func wordsOf(name string) []string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return slices.DeleteFunc(words, func(word string) bool {
		return slices.Contains([]string{"crd", "crds", "operator", "io", "k8s", "kube", "com", "org", "dev", "stack", "chart", "charts", "config",
			"release", "kustomization", "system", "controller", "manager", "app", "apps"}, word)
	})
}

// runsArgo reports whether a kind is that of the object that Argo CD itself is made from
// by its operator: what applies the object runs already, and so does the operator.
func (x *index) runsArgo(o *object, k key) bool {
	return o.is("argoproj.io", "ArgoCD") && (k.Kind == kindKind || k.Kind == kindController) && slices.Contains(x.in.Existing, o.namespace())
}

// ofArgo reports whether a Service is one of Argo CD itself, which runs before it syncs anything:
// where it manages itself, what it provides is there from the start. Source: Argo CD's
// installation manifests and its chart, which name them argocd-server and the like.
func (x *index) ofArgo(k key) bool {
	return slices.Contains(x.in.Existing, k.Namespace) && argoNamespace(k.Namespace) && strings.Contains(k.Name, "argocd-")
}

// argoNamespace reports whether Argo CD is known to run in a namespace. Source: the
// installation guides of Argo CD and of OpenShift GitOps.
func argoNamespace(name string) bool {
	return name == "argocd" || name == "argo-cd" || name == "openshift-gitops"
}

// forCRDs reports whether a component is there to bring CRDs, by its name and
// those of its sources.
func forCRDs(c *model.Component) bool {
	named := func(s string) bool { return strings.Contains(strings.ToLower(s), "crd") }
	return c.Type == model.CRDs || named(c.Name) || slices.ContainsFunc(c.Sources, func(s model.Source) bool {
		return named(s.Name) || named(s.Path) || named(s.ReleaseName)
	})
}
