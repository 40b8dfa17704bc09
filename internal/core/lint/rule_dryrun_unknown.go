package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// dryRunOfUnknown finds custom resources beside the Subscription of a package of which the kinds are
// not known, where nothing that was read brings theirs: the package may. One speaks for all of a
// component.
func dryRunOfUnknown(in Input) []finding.Finding {
	unknown := map[string]finding.Evidence{} // by component
	for _, i := range enabledInstallations(in) {
		if len(i.Modes) == 0 {
			unknown[i.Subscription.Component] = evidenceOf(i.Subscription, "installs package "+i.Package+", of which the kinds are not known")
		}
	}
	if len(unknown) == 0 || in.Flux != nil {
		return nil
	}
	brought := map[finding.Resource]bool{} // what is of a kind that something brings
	for _, d := range in.Dependencies {
		if d.Rule == ruleCRD {
			brought[d.Consumer.Object] = true
		}
	}
	groups := map[string]bool{}
	for _, o := range in.Objects {
		if _, group, ok := strings.Cut(o.Resource.Name, "."); ok && isCRD(o.Resource) {
			groups[group] = true
		}
	}
	dryRun := newDryRun(in)
	told := map[string]bool{}
	var out []finding.Finding
	for _, o := range in.Objects {
		why, beside := unknown[o.Component]
		group := o.Resource.Group
		served := !isCustom(group) || group == "argoproj.io" || groups[group] || strings.HasSuffix(group, "openshift.io") || strings.HasSuffix(group, "coreos.com")
		if !beside || told[o.Component] || served || brought[o.Resource] || skips(o.SyncOptions) || skips(dryRun.ofApplication[o.Component]) ||
			slices.ContainsFunc(in.Components, func(c model.Component) bool { return c.Name == o.Component && skips(c.SyncOptions) }) {
			continue
		}
		told[o.Component] = true
		f := finding.Finding{
			Rule: ruleDryRun, Severity: finding.Info, Scope: finding.Within, Component: o.Component, Provider: o.Component,
			Resource: o.Resource, Position: o.Position, Basis: finding.Rendered, Evidence: []finding.Evidence{why},
		}
		f.Message = fmt.Sprintf("%s is of a kind that nothing here brings, unless the operator beside it does: without %s the dry run fails until the kind is there, and nothing of %s is ever applied",
			o.Resource.Human(), skipDryRun, o.Component)
		f.Fix.Summary = fmt.Sprintf("annotate it with argocd.argoproj.io/sync-options: %s and give it a later sync wave than the Subscription, unless the kind is there before", skipDryRun)
		out = append(out, f)
	}
	return out
}
