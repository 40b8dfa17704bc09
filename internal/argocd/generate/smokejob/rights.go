package smokejob

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// right is the right to one verb on a kind in a namespace, or on cluster-wide
// objects or all namespaces where it is empty; name is empty for every object.
type right struct {
	namespace, group, resource, verb, name string
}

// rights are those that the checks need, sorted. http and tcp need none: the pod
// opens its connections itself.
func (b *builder) rights(checks []model.Check) ([]right, error) {
	set := map[right]bool{}
	for _, c := range checks {
		one, err := b.rightsOf(c)
		if err != nil {
			return nil, err
		}
		for _, r := range one {
			set[r] = true
		}
	}
	return slices.SortedFunc(maps.Keys(set), func(x, y right) int {
		return cmp.Or(strings.Compare(x.namespace, y.namespace), strings.Compare(x.group, y.group),
			strings.Compare(x.resource, y.resource), strings.Compare(x.verb, y.verb), strings.Compare(x.name, y.name))
	}), nil
}

func (b *builder) rightsOf(c model.Check) ([]right, error) {
	named := func(group, kind, namespace, name string) right {
		if b.in.Kinds.ClusterWide(group, kind) {
			namespace = ""
		}
		return right{namespace, group, b.in.Kinds.Resource(group, kind), "get", name}
	}
	switch c.Kind {
	case model.CheckCondition:
		return []right{named(c.Group, c.ObjectKind, c.Namespace, c.Name)}, nil
	case model.CheckSecret:
		return []right{named("", "Secret", c.Namespace, c.Name)}, nil
	case model.CheckCertificate:
		out := []right{named("", "Secret", c.Namespace, c.Name)}
		for _, ref := range c.IssuedBy {
			namespace, name := c.Namespace, ref
			if ns, n, ok := strings.Cut(ref, "/"); ok {
				namespace, name = ns, n
			}
			out = append(out, named("", "Secret", namespace, name))
		}
		return out, nil
	case model.CheckJob:
		return []right{named("batch", "Job", c.Namespace, c.Name)}, nil
	case model.CheckEndpoint:
		// A Service does not name its slices: they are listed.
		return []right{
			named("", "Service", c.Namespace, c.Name),
			{c.Namespace, "discovery.k8s.io", "endpointslices", "list", ""},
		}, nil
	case model.CheckHTTP, model.CheckTCP:
		return nil, nil
	case model.CheckCEL:
		r := named(c.Group, c.ObjectKind, c.Namespace, c.Name)
		if c.Name == "" {
			r.verb = "list"
		}
		return []right{r}, nil
	default:
		return nil, fmt.Errorf("smoke %s: %s: check %q is not known", b.in.Name, c.Position, c.Kind)
	}
}

// Kinds answers what the API says of kinds, from the CRDs of the platform and
// from how the kinds of Kubernetes are named.
type Kinds struct {
	scopes  *manifest.Scopes
	plurals map[string]string // by "group/Kind"
}

// NewKinds learns from the CRDs among rendered objects, those of all components.
func NewKinds(objects map[string][]manifest.Object) *Kinds {
	k := &Kinds{scopes: manifest.NewScopes(), plurals: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		for _, o := range objects[name] {
			if crd, ok := manifest.ReadCRD(o.Unstructured); ok {
				k.scopes.AddCRD(crd)
				k.plurals[crd.Group+"/"+crd.Kind] = crd.Plural
			}
		}
	}
	return k
}

// ClusterWide reports whether objects of the kind live outside namespaces.
func (k *Kinds) ClusterWide(group, kind string) bool { return k.scopes.ClusterWide(group, kind) }

// Scopes are those that the CRDs tell.
func (k *Kinds) Scopes() *manifest.Scopes { return k.scopes }

// Resource is the name of a kind in the paths of the API: what its CRD says, else
// the plural of its name. Source: the API conventions of Kubernetes, "Resources".
func (k *Kinds) Resource(group, kind string) string {
	if plural := k.plurals[group+"/"+kind]; plural != "" {
		return plural
	}
	name := strings.ToLower(kind)
	before, y := strings.CutSuffix(name, "y")
	switch {
	case group == "" && name == "endpoints":
		return name
	case y && before != "" && !strings.ContainsAny(before[len(before)-1:], "aeiou"):
		return before + "ies"
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "x"), strings.HasSuffix(name, "ch"), strings.HasSuffix(name, "sh"):
		return name + "es"
	default:
		return name + "s"
	}
}
