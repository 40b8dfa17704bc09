package argocd

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// finalizers are those of Argo CD, without what may follow behind a slash. Source: argo-cd,
// pkg/apis/application/v1alpha1, application_defaults.go; "pre-delete" since 3.3.
var finalizers = []string{"resources-finalizer.argocd.argoproj.io", "post-delete-finalizer.argocd.argoproj.io", "pre-delete-finalizer.argocd.argoproj.io"}

// foreignFinalizers tells of finalizers of an Application that name Argo CD, and that it does not
// know: it deletes nothing by them, and never takes them away. They are in the metadata of a
// part of a document: the document itself, or the template of a set.
func (r *Repository) foreignFinalizers(d document, part []string) {
	path := append(slices.Clone(part), "metadata", "finalizers")
	for _, item := range d.value.At(path...).Elements() {
		name, _, _ := strings.Cut(item.Text, "/")
		if !strings.Contains(name, "argocd") && !strings.Contains(name, "argoproj") || hasPlaceholder(name) || slices.Contains(finalizers, name) {
			continue
		}
		f := newFinding(RuleInvalid, finding.Warning, d.at(path...), d.name(),
			"%s is no finalizer of Argo CD: it leaves the objects of the Application behind, and the Application itself is never gone once it is deleted", item.Text)
		f.Fix.Summary = "write " + finalizers[0]
		r.findings = append(r.findings, f)
	}
}
