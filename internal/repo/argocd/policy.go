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

// ofSpec are fields that are written beside the spec and do nothing there. Source:
// ApplicationSpec.
var ofSpec = []string{"ignoreDifferences", "syncPolicy"}

// misplacedPolicy tells of them in the spec at a path of a document.
func (r *Repository) misplacedPolicy(d document, path ...string) {
	policy := append(slices.Clone(path), "syncPolicy")
	for _, place := range [][]string{path, append(slices.Clone(policy), "automated")} {
		r.misplacedFields(d, place, policy, ofSyncPolicy)
	}
	r.misplacedFields(d, path[:len(path)-1], path, ofSpec)
}

// misplacedFields tells of those of fields that are at a place, and not where Argo CD reads
// them.
func (r *Repository) misplacedFields(d document, place, right, fields []string) {
	for _, field := range fields {
		if _, ok := d.value.At(place...).Get(field); !ok {
			continue
		}
		wrong := append(slices.Clone(place), field)
		read := strings.Join(append(slices.Clone(right), field), ".")
		f := newFinding(RuleUnknown, finding.Warning, d.at(wrong...), d.name(),
			"%s is no field of an Application and has no effect: Argo CD reads %s", strings.Join(wrong, "."), read)
		f.Fix.Summary = "move it to " + read
		r.findings = append(r.findings, f)
	}
}
