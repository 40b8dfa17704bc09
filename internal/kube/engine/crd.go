package engine

import (
	"context"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// broughtCRD is a CRD that a component of the rollout brings.
type broughtCRD struct {
	component string
	resource  finding.Resource
}

// established reports whether the CRD of a kind, which a component of the rollout
// brings, is established in the cluster and serves the version: then the kind is
// about to be served.
func (e *Engine) established(ctx context.Context, gvk schema.GroupVersionKind) bool {
	brought, ok := e.crds[gvk.GroupKind()]
	if !ok {
		return false
	}
	m, err := e.lookup(ctx, apiextensions.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err != nil {
		return false
	}
	live, err := e.get(ctx, m, brought.resource)
	if err != nil || live == nil {
		return false
	}
	var crd apiextensions.CustomResourceDefinition
	if runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &crd) != nil {
		return false
	}
	served, established := false, false
	for _, v := range crd.Spec.Versions {
		served = served || v.Name == gvk.Version && v.Served
	}
	for _, c := range crd.Status.Conditions {
		established = established || c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue
	}
	return served && established
}
