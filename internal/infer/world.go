package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/manifest"
)

// world is what is known of the cluster from all objects together.
type world struct {
	// plurals maps "group/Kind" to the resource name that webhooks use.
	plurals map[string]string
	// labels of the namespaces that objects define.
	labels map[string]map[string]string
}

func newWorld(objects [][]object) world {
	w := world{plurals: map[string]string{}, labels: map[string]map[string]string{}}
	for _, of := range objects {
		for _, o := range of {
			if crd, ok := manifest.ReadCRD(o.Unstructured); ok && crd.Plural != "" {
				w.plurals[crd.Group+"/"+crd.Kind] = crd.Plural
			}
			if o.is("", "Namespace") {
				w.labels[o.GetName()] = o.GetLabels()
			}
		}
	}
	return w
}

// resource returns the plural of a kind: from its CRD, else by the rule that
// all kinds of Kubernetes follow.
func (w world) resource(group, kind string) string {
	if plural, ok := w.plurals[group+"/"+kind]; ok {
		return plural
	}
	lower := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(lower, "s"), strings.HasSuffix(lower, "x"), strings.HasSuffix(lower, "ch"), strings.HasSuffix(lower, "sh"):
		return lower + "es"
	case strings.HasSuffix(lower, "y") && !strings.HasSuffix(lower, "ay") && !strings.HasSuffix(lower, "ey"):
		return strings.TrimSuffix(lower, "y") + "ies"
	case lower == "endpoints":
		return lower
	default:
		return lower + "s"
	}
}
