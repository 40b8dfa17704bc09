package analysis

import (
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// ruleOption is the rule of options that Argo CD passes over.
const ruleOption = "sync-option"

// ignoredOptions finds those in the annotations of the objects of a component. Applications
// are judged where they are read.
func (r *Result) ignoredOptions(c model.Component, objects []manifest.Object) []finding.Finding {
	var out []finding.Finding
	for _, o := range objects {
		if isArgo(o) {
			continue
		}
		annotations := o.GetAnnotations()
		for _, has := range argo.OptionAnnotations() {
			for option := range strings.SplitSeq(annotations[has.Name], ",") {
				option = strings.TrimSpace(option)
				why, right := argo.Ignored(option, has.Place)
				if why == "" {
					continue
				}
				resource := o.Resource()
				out = append(out, finding.Finding{
					Rule: ruleOption, Severity: finding.Warning, Scope: finding.Rule, Component: c.Name, Resource: resource, Basis: finding.Rendered,
					Position: r.fieldAt(o.Origin.Position(), "metadata.annotations["+has.Name+"]"),
					Message:  fmt.Sprintf("the option %q of %s has no effect: %s", option, resource.Human(), why),
					Fix:      finding.Fix{Summary: right},
				})
			}
		}
	}
	return out
}
