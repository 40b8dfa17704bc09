package manifest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Origin says where an object comes from.
type Origin struct {
	// File and Line are the template, manifest or kustomization it was rendered
	// from, relative to the root of the platform. For a rendered template the
	// line is the one of the template where it can be told, else 1.
	File string
	Line int
	// Values is the last value file that was layered over the template, empty
	// where there is none.
	Values string
}

// Position returns the origin as a finding position.
func (o Origin) Position() finding.Position {
	return finding.Position{File: o.File, Line: o.Line}
}

// Object is one rendered object.
type Object struct {
	*unstructured.Unstructured

	Origin Origin
	// Target is the namespace the object lands in: its own, or the
	// destination namespace of its component; empty for cluster-wide kinds
	// where that is known.
	Target string
	// ClusterWide is set where its kind is known to have no namespace, although one is written.
	ClusterWide bool
	// CRDFolder is set for objects from a chart's crds/ folder.
	CRDFolder bool
	// Guarded is set where its template leaves it out while the cluster does not serve the
	// CRDs of the repository.
	Guarded bool
}

// Resource names the object.
func (o Object) Resource() finding.Resource {
	gvk := o.GroupVersionKind()
	return finding.Resource{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.Space(), Name: o.GetName()}
}

// Space is the namespace of the object, as far as it is known.
func (o Object) Space() string {
	ns := o.GetNamespace()
	switch {
	case o.ClusterWide:
		return ""
	case ns == "":
		return o.Target
	}
	return ns
}
