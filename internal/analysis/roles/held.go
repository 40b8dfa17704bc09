// Package roles says what a component is for, where nobody wrote it down: by what it holds,
// else by names.
package roles

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Of is the type of a component: the one that is written or that its slot has, else that of
// what it holds, else, for an Application, the one that its name tells where nothing that it
// holds contradicts it. rendered is set where the objects are known.
func Of(c *model.Component, bands []plan.Band, objects []manifest.Object, rendered bool) model.Type {
	described := c.Described || !c.Object && !c.PreArgo
	if _, written := c.Fields["componentType"]; written || c.Type != model.Runtime || described && descriptor.HasSlots(c.Phase, bands) {
		return c.Type
	}
	rendered = rendered && len(objects) > 0
	h := holds(objects)
	switch {
	case !rendered:
	case h.crds == len(objects):
		return model.CRDs
	case h.namespaces == len(objects):
		return model.Namespaces
	case h.crds > 0 && h.workloads > 0 && h.volumes == 0: // what stores data is run for its own sake
		return model.Operator
	}
	if described {
		return c.Type
	}
	switch {
	case !rendered:
	case h.secrets > 0 && h.secrets+h.namespaces == len(objects):
		return model.Secrets
	case h.configs > 0 && h.configs+h.namespaces == len(objects):
		return model.Config
	}
	chart := ""
	for _, s := range c.Sources {
		if s.Kind == model.Chart {
			chart = cmp.Or(s.Name, s.Path)
		}
	}
	switch t := Named(c.Name, chart).Type; {
	case rendered && (t == model.CRDs || t == model.Namespaces), rendered && t == model.Operator && h.workloads == 0:
		return c.Type
	default:
		return t
	}
}

// held counts the objects of a component that tell its type.
type held struct{ crds, namespaces, workloads, volumes, secrets, configs int }

func holds(objects []manifest.Object) (h held) {
	for _, o := range objects {
		switch gk := o.GroupVersionKind().GroupKind(); gk.String() {
		case "CustomResourceDefinition.apiextensions.k8s.io":
			h.crds++
		case "Namespace":
			h.namespaces++
		case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps":
			h.workloads++
			if claims, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates"); len(claims) > 0 {
				h.volumes++
			}
		case "PersistentVolumeClaim":
			h.volumes++
		case "ConfigMap":
			h.configs++
		default:
			// Secret, ExternalSecret, SealedSecret, ClusterSecretStore and their like.
			if strings.HasSuffix(gk.Kind, "Secret") || strings.HasSuffix(gk.Kind, "SecretStore") {
				h.secrets++
			}
		}
	}
	return h
}
