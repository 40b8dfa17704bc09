package generate

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// crdKind is the kind that a CRD defines, as "group/Kind".
func crdKind(object map[string]any) string {
	spec, _ := object["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	group, _ := spec["group"].(string)
	kind, _ := names["kind"].(string)
	return group + "/" + kind
}

// isAdopted reports whether an object is applied before Argo CD exists.
func (b *builder) isAdopted(r finding.Resource) bool {
	return b.preArgo()[r] != ""
}

// preArgo are the objects that are applied before Argo CD exists, with the
// component that applies each.
func (b *builder) preArgo() map[finding.Resource]string {
	if b.early != nil {
		return b.early
	}
	b.early = map[finding.Resource]string{}
	for _, c := range b.platform.Components {
		if !c.Enabled || !c.PreArgo {
			continue
		}
		for _, o := range b.in.Objects[c.Name] {
			b.early[o.Resource()] = c.Name
		}
	}
	return b.early
}

// adoption warns of manifests that are applied before Argo CD exists and that no
// component takes over: nothing keeps them afterwards. Those of Secrets are meant
// to stay out of the repository.
func (b *builder) adoption() {
	taken := map[string]bool{}
	// The settings are generated.
	taken[b.preArgo()[finding.Resource{Kind: "ConfigMap", Namespace: b.platform.ArgoCD.Namespace, Name: health.ArgoCM}]] = true
	for name := range b.components {
		for _, o := range b.in.Objects[name] {
			if by := b.preArgo()[o.Resource()]; by != "" {
				taken[by] = true
			}
		}
	}
	var left []string
	for _, c := range b.platform.Components {
		secret := slices.ContainsFunc(b.in.Objects[c.Name], func(o manifest.Object) bool { return o.GetKind() == "Secret" })
		if c.Enabled && c.PreArgo && !taken[c.Name] && !secret {
			left = append(left, c.Name)
		}
	}
	if len(left) > 0 {
		b.warn(b.platform.Ladder.Position, "no component takes over what is applied before Argo CD by %s: Argo CD will not keep it", strings.Join(left, ", "))
	}
}
