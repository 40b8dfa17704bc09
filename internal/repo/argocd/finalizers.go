package argocd

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// finalizer matches those of Argo CD. Source: argo-cd, pkg/apis/application/v1alpha1,
// application_defaults.go; "pre-delete" since 3.3.
var finalizer = lazyregexp.New(`^(resources-finalizer\.argocd\.argoproj\.io(/background|/foreground)?|(post|pre)-delete-finalizer\.argocd\.argoproj\.io(/.*)?)$`)

// foreignFinalizers tells of finalizers of an Application that are nearly Argo CD's: it never
// takes them away. They are in the metadata of a part of a document: the document itself, or the
// template of a set.
func (r *Repository) foreignFinalizers(d document, part []string) {
	path := append(slices.Clone(part), "metadata", "finalizers")
	for _, item := range d.value.At(path...).Elements() {
		name := item.Text
		if !strings.Contains(name, "finalizer.argo") || hasPlaceholder(name) || finalizer.MatchString(name) {
			continue
		}
		f := newFinding(RuleInvalid, finding.Warning, d.at(path...), d.name(),
			"%s is no finalizer of Argo CD, which never takes it away: the Application is never gone once it is deleted", name)
		f.Fix.Summary = "write resources-finalizer.argocd.argoproj.io"
		r.findings = append(r.findings, f)
	}
}
