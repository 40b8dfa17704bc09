package orphans

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Ladder is what the repository says about one environment.
type Ladder struct {
	Environment string
	// Rollout names the rollouts of this platform in the environment.
	Rollout string
	// Components in the order of the ladder, disabled ones included.
	Components []model.Component
	// Objects are those of the components that are rendered whole, Partial those
	// of the others as far as they are known.
	Objects, Partial map[string][]manifest.Object
	// Unrendered are the components that could not be rendered whole.
	Unrendered []string
	// Disabled renders a disabled component; nil for none. It is asked only when
	// there are orphans.
	Disabled func(name string) []manifest.Object
	// ArgoNamespaces are those that Argo CD itself runs in.
	ArgoNamespaces []string
	// Namespaces are looked at beside those of the components.
	Namespaces []string
}

// index answers questions about the ladder.
type index struct {
	Ladder
	// objects are the components by what they render; those of a namespaced kind
	// have a namespace. generated are those whose names the cluster completes.
	objects   map[finding.Resource]string
	generated map[finding.Resource]string
	// elsewhere are the resources of one kind and name, whatever the namespace.
	elsewhere map[finding.Resource][]finding.Resource
	kinds     map[schema.GroupKind]bool
	place     map[string]int
	byName    map[string]*model.Component
	// releases are the components by release and its namespace.
	releases   map[[2]string]string
	namespaces []string
	leftOut    []string
}

// systemNamespaces hold the cluster's own objects beside those of components.
var systemNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// stateNamespace holds the state of rollouts.
const stateNamespace = "ladder-system"

func newIndex(l Ladder, namespaced func(schema.GroupKind) (bool, bool)) *index {
	x := &index{
		Ladder: l, objects: map[finding.Resource]string{}, generated: map[finding.Resource]string{}, elsewhere: map[finding.Resource][]finding.Resource{},
		kinds: map[schema.GroupKind]bool{}, place: map[string]int{}, byName: map[string]*model.Component{}, releases: map[[2]string]string{},
	}
	wanted := map[string]bool{}
	for i := range l.Components {
		c := &l.Components[i]
		x.place[c.Name], x.byName[c.Name] = i, c
		if !c.Enabled {
			continue
		}
		if c.Namespace != "" && len(c.Sources) > 0 {
			wanted[c.Namespace] = true
		}
		for _, s := range c.Sources {
			if s.Kind != model.Chart {
				continue
			}
			release, namespace := s.ReleaseName, s.Namespace
			if release == "" {
				release = c.Name
			}
			if namespace == "" {
				namespace = c.Namespace
			}
			x.releases[[2]string{namespace, release}] = c.Name
		}
	}
	for _, rendered := range []map[string][]manifest.Object{l.Objects, l.Partial} {
		for name, objects := range rendered {
			for _, o := range objects {
				r := x.resource(o, namespaced)
				gk := o.GroupVersionKind().GroupKind()
				x.kinds[gk] = true
				if r.Namespace != "" {
					wanted[r.Namespace] = true
				}
				if gk == (schema.GroupKind{Kind: "Namespace"}) {
					wanted[r.Name] = true
				}
				if r.Name == "" && o.GetGenerateName() != "" {
					r.Name = o.GetGenerateName()
					x.generated[r] = name
					continue
				}
				x.objects[r] = name
				anywhere := r
				anywhere.Namespace = ""
				x.elsewhere[anywhere] = append(x.elsewhere[anywhere], r)
			}
		}
	}
	x.chooseNamespaces(wanted)
	return x
}

// resource names a rendered object as the cluster does.
func (x *index) resource(o manifest.Object, namespaced func(schema.GroupKind) (bool, bool)) finding.Resource {
	r := o.Resource()
	if in, known := namespaced(o.GroupVersionKind().GroupKind()); known && !in {
		r.Namespace = ""
	}
	return r
}

func (x *index) chooseNamespaces(wanted map[string]bool) {
	for _, n := range x.Namespaces {
		wanted[n] = true
	}
	for n := range wanted {
		asked := slices.Contains(x.Namespaces, n)
		switch {
		case n == stateNamespace && !asked:
		case (slices.Contains(systemNamespaces, n) || slices.Contains(x.ArgoNamespaces, n)) && !asked:
			x.leftOut = append(x.leftOut, n)
		default:
			x.namespaces = append(x.namespaces, n)
		}
	}
	slices.Sort(x.namespaces)
	slices.Sort(x.leftOut)
}

// renders is the component that renders an object; "" for none.
func (x *index) renders(r finding.Resource) string {
	if c := x.objects[r]; c != "" {
		return c
	}
	for g, c := range x.generated {
		if g.Group == r.Group && g.Kind == r.Kind && g.Namespace == r.Namespace && strings.HasPrefix(r.Name, g.Name) {
			return c
		}
	}
	return ""
}

// may are the components that were not rendered whole and whose namespace is that
// of an object: it may be theirs.
func (x *index) may(namespace string) []string {
	var out []string
	for _, name := range x.Unrendered {
		if c := x.byName[name]; c != nil && (c.Namespace == namespace || namespace == "") {
			out = append(out, name)
		}
	}
	return out
}
