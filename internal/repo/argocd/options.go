package argocd

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// ignoredOptions tells of options that Argo CD passes over, of the spec at a path of a
// document and of the metadata beside it.
func (r *Repository) ignoredOptions(d document, path []string) {
	list := append(slices.Clone(path), "syncPolicy", "syncOptions")
	automated := d.value.At(append(slices.Clone(path), "syncPolicy", "automated")...)
	written := d.written.At(list...).Elements()
	for i, option := range d.value.At(list...).Elements() {
		at := d.at(list...)
		if i < len(written) {
			at = written[i].Position
		}
		r.ignoredOption(d, at, option.Text, argo.SyncList, automated)
	}
	for _, has := range argo.OptionAnnotations() {
		annotation := append(slices.Clone(path[:len(path)-1]), "metadata", "annotations", has.Name)
		for option := range strings.SplitSeq(d.value.TextAt(annotation...), ",") {
			option = strings.TrimSpace(option)
			before := len(r.findings)
			r.ignoredOption(d, d.at(annotation...), option, has.Place, nil)
			if len(r.findings) > before && slices.ContainsFunc(d.value.At(list...).Elements(), func(v *yamldoc.Value) bool { return v.Text == option }) {
				r.findings[before].Fix.Summary = "take it out: syncOptions has it"
			}
		}
	}
}

// ignoredOption tells of one option, unless it has its effect or something else fills it in.
// automated is the section that may have it already.
func (r *Repository) ignoredOption(d document, at finding.Position, option string, place argo.OptionPlace, automated *yamldoc.Value) {
	why, right := argo.Ignored(option, place)
	if why == "" || hasPlaceholder(option) {
		return
	}
	if name, _, _ := strings.Cut(option, "="); place == argo.SyncList && automated.At(strings.TrimSpace(name)) != nil {
		right = "take it out: automated has it"
	}
	f := newFinding(RuleOption, finding.Warning, at, d.name(), "the option %q has no effect: %s", option, why)
	f.Fix.Summary = right
	r.findings = append(r.findings, f)
}
