package argocd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
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
	r.misspeltHelm(d, path)
	r.idleMetadata(d, policy)
	r.ignoredOptions(d, path)
}

// idleMetadata tells of labels and annotations of a namespace that Argo CD does not make.
// Source: Argo CD, "Sync Options", namespace metadata.
func (r *Repository) idleMetadata(d document, policy []string) {
	const field = "managedNamespaceMetadata"
	metadata := d.value.At(append(slices.Clone(policy), field)...)
	if metadata == nil || len(metadata.Entries) == 0 || d.value.At("spec", "templatePatch") != nil {
		return // a patch may add the option
	}
	for _, option := range d.value.At(append(slices.Clone(policy), "syncOptions")...).Elements() {
		if text := strings.TrimSpace(option.Text); text == "CreateNamespace=true" || hasPlaceholder(text) {
			return
		}
	}
	f := newFinding(RuleUnknown, finding.Info, d.at(append(slices.Clone(policy), field)...), d.name(),
		"%s.%s has no effect: Argo CD heeds it with the sync option CreateNamespace=true only", strings.Join(policy, "."), field)
	f.Fix.Summary = "add CreateNamespace=true to syncOptions, or write the metadata on the Namespace"
	r.findings = append(r.findings, f)
}

// ofHelm are the fields that Argo CD reads of the helm section of a source. Source:
// ApplicationSourceHelm.
var ofHelm = []string{
	"apiVersions", "fileParameters", "ignoreMissingValueFiles", "kubeVersion", "namespace", "parameters", "passCredentials",
	"releaseName", "skipCrds", "skipSchemaValidation", "skipTests", "valueFiles", "values", "valuesObject", "version",
}

// misspeltHelm tells of what is nearly one of these fields, in the sources of the spec at a
// path of a document.
func (r *Repository) misspeltHelm(d document, path []string) {
	tell := func(source *yamldoc.Value, place string, at func(field string) finding.Position) {
		helm := source.At("helm")
		if helm == nil || helm.Kind != yamldoc.Map {
			return
		}
		for _, e := range helm.Entries {
			meant := yamldoc.Nearest(e.Key, ofHelm)
			if meant == "" || slices.Contains(ofHelm, e.Key) {
				continue
			}
			f := newFinding(RuleUnknown, finding.Warning, at(e.Key), d.name(),
				"%s.helm.%s is no field of an Application and has no effect: Argo CD reads %s", place, e.Key, meant)
			f.Fix.Summary = "write " + meant
			r.findings = append(r.findings, f)
		}
	}
	place := strings.Join(path, ".") + ".source"
	at := func(keys ...string) finding.Position { return d.at(append(slices.Clone(path), keys...)...) }
	tell(d.value.At(append(slices.Clone(path), "source")...), place, func(field string) finding.Position { return at("source", "helm", field) })
	if list := d.value.At(append(slices.Clone(path), "sources")...); list != nil {
		for i, item := range list.Items {
			tell(item, fmt.Sprintf("%ss[%d]", place, i), func(string) finding.Position { return at("sources") })
		}
	}
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
