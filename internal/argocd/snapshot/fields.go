package snapshot

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// fields are those of an object that are kept, by their names; anyField is one of any
// name. Fields of nil are a text, a number, a switch, or a list of these.
//
// People write secrets into values, parameters, patches, variables and elements of
// generators, by any name and in any language. So it is listed what is kept, and
// nothing of these is.
type fields map[string]fields

const anyField = "*"

var (
	metadata = fields{
		"name": nil, "namespace": nil, "labels": {anyField: nil}, "ownerReferences": {"apiVersion": nil, "kind": nil, "name": nil},
		"annotations": {"argocd.argoproj.io/sync-wave": nil, "argocd.argoproj.io/sync-options": nil},
	}
	source      = fields{"repoURL": nil, "path": nil, "chart": nil, "targetRevision": nil, "ref": nil, "name": nil}
	destination = fields{"name": nil, "server": nil, "namespace": nil}
	application = fields{
		"project": nil, "destination": destination, "source": source, "sources": source,
		"syncPolicy": {
			"automated": {"enabled": nil, "prune": nil, "selfHeal": nil, "allowEmpty": nil}, "syncOptions": nil,
			"retry": {"limit": nil, "backoff": {"duration": nil, "factor": nil, "maxDuration": nil}},
		},
	}
	resources = fields{"group": nil, "kind": nil, "name": nil}

	// specs are the fields of each kind. Source: the types of argo-cd,
	// pkg/apis/application/v1alpha1.
	specs = map[string]fields{
		"Application": application,
		"ApplicationSet": {
			"goTemplate": nil, "goTemplateOptions": nil,
			"syncPolicy": {"applicationsSync": nil, "preserveResourcesOnDeletion": nil},
			"strategy":   {"type": nil, "rollingSync": {"steps": {"maxUpdate": nil, "matchExpressions": {"key": nil, "operator": nil, "values": nil}}}},
			"template":   {"metadata": {"name": nil, "namespace": nil, "labels": {anyField: nil}}, "spec": application},
		},
		"AppProject": {
			"sourceRepos": nil, "sourceNamespaces": nil, "destinations": destination, "permitOnlyProjectScopedClusters": nil,
			"clusterResourceWhitelist": resources, "clusterResourceBlacklist": resources,
			"namespaceResourceWhitelist": resources, "namespaceResourceBlacklist": resources,
			"syncWindows": {
				"kind": nil, "schedule": nil, "duration": nil, "timeZone": nil, "manualSync": nil, "andOperator": nil,
				"applications": nil, "namespaces": nil, "clusters": nil,
			},
		},
	}
)

// object keeps what an object of Argo CD says of where its sources are, where they go
// and in which order.
func (c *cleaner) object(of *unstructured.Unstructured) *unstructured.Unstructured {
	kept := map[string]any{"apiVersion": of.GetAPIVersion(), "kind": of.GetKind()}
	if m := c.keep(of, "", metadata, of.Object["metadata"]); m != nil {
		kept["metadata"] = m
	}
	if spec := c.keep(of, "spec", specs[of.GetKind()], of.Object["spec"]); spec != nil {
		kept["spec"] = spec
	}
	return &unstructured.Unstructured{Object: kept}
}

// keep returns what a value at a path has of the fields, nil for nothing. What a spec
// has beside them is left out; of metadata everything else comes and goes.
func (c *cleaner) keep(of *unstructured.Unstructured, path string, f fields, value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range value {
			at := path
			if path != "" {
				at += "." + key
			}
			below, known := f[key]
			if !known {
				below, known = f[anyField]
			}
			kept := any(nil)
			if known {
				kept = c.keep(of, at, below, inner)
			} else if path != "" {
				c.leave(of, at)
			}
			if kept != nil {
				out[key] = kept
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		out := []any{}
		for _, inner := range value {
			if kept := c.keep(of, path, f, inner); kept != nil {
				out = append(out, kept)
			}
		}
		return out
	case nil:
		return nil
	}
	if f != nil { // an object belongs here
		return nil
	}
	text, ok := value.(string)
	switch {
	case !ok:
		return value
	case confidential.Text(text) || strings.ContainsAny(text, "\n"):
		c.leave(of, path)
		return manifest.Redacted
	}
	return finding.Redact(text)
}
