package argocd

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// ofSyncPolicy are fields that are written beside or below the place where Argo CD
// reads them, and do nothing there. Source: argo-cd, pkg/apis/application/v1alpha1,
// ApplicationSpec, SyncPolicy and SyncPolicyAutomated.
var ofSyncPolicy = []string{"automated", "managedNamespaceMetadata", "retry", "syncOptions"}

// misplacedPolicy tells of them in the spec at a path of a document.
func (r *Repository) misplacedPolicy(d document, path ...string) {
	for _, place := range [][]string{path, append(slices.Clone(path), "syncPolicy", "automated")} {
		for _, field := range ofSyncPolicy {
			if _, ok := d.value.At(place...).Get(field); !ok {
				continue
			}
			right := strings.Join(append(slices.Clone(path), "syncPolicy", field), ".")
			f := newFinding(RuleUnknown, finding.Warning, d.at(append(slices.Clone(place), field)...), d.name(),
				"%s.%s is no field of an Application and has no effect: Argo CD reads %s", strings.Join(place, "."), field, right)
			f.Fix.Summary = "move it to " + right
			r.findings = append(r.findings, f)
		}
	}
}
