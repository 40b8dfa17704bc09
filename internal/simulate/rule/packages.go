package rule

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
)

// olmPackage is what the catalogue knows of a package of the Operator Lifecycle
// Manager, as expressions see it; nil for a package that is not known.
func olmPackage(name string) map[string]any {
	o, p, ok := catalogue.OfPackage(name)
	if !ok {
		return nil
	}
	version, _, _ := strings.Cut(o.Version, " ")
	kinds, workloads, webhooks := []any{}, []any{}, []any{}
	plurals := map[string]string{}
	for _, crd := range o.Kinds {
		plurals[crd.Group+"/"+crd.Kind] = crd.Plural
		kinds = append(kinds, map[string]any{"group": crd.Group, "kind": crd.Kind, "plural": crd.Plural, "cluster": crd.ClusterWide, "versions": texts(crd.Versions)})
	}
	for _, w := range o.Workloads {
		workloads = append(workloads, map[string]any{"name": w.Name, "image": w.Image})
	}
	for _, w := range o.Webhooks {
		if w.Selective {
			continue // which objects it sees is not known
		}
		byGroup := map[string][]string{}
		for _, id := range w.Kinds {
			if i := strings.LastIndexByte(id, '/'); plurals[id] != "" {
				byGroup[id[:i]] = append(byGroup[id[:i]], plurals[id])
			}
		}
		for group, resources := range byGroup {
			webhooks = append(webhooks, map[string]any{"group": group, "resources": texts(resources), "policy": cmp.Or(w.Policy, "Fail")})
		}
	}
	slices.SortFunc(webhooks, func(a, b any) int {
		return strings.Compare(a.(map[string]any)["group"].(string), b.(map[string]any)["group"].(string))
	})
	return map[string]any{"version": version, "modes": texts(p.Modes), "kinds": kinds, "workloads": workloads, "webhooks": webhooks}
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
