package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/dependency"
	"github.com/rollout-ladder/ladder/internal/finding"
)

const ruleDryRun = "crd-cr-without-skip-dry-run"

// skipDryRun is the sync option that lets a sync begin while a kind is not
// served.
const skipDryRun = "SkipDryRunOnMissingResource=true"

// dryRunOnMissing finds objects whose kind comes through something that the same
// Application applies, but not as a CRD: a Subscription, a Crossplane definition,
// an operator. Argo CD checks every object of an Application before it applies
// the first, whatever their waves, and skips the check by itself only where the
// CRD is an object of the sync; so the sync fails, and what would bring the kind
// is never applied. Source: Argo CD, user guide, "Sync Options", "Skip Dry Run for
// new custom resources types"; gitops-engine, pkg/sync, hasCRDOfGroupKind.
func dryRunOnMissing(in Input) []finding.Finding {
	o := newOrder(in)
	options := map[dependency.End][]string{}
	for _, object := range in.Objects {
		options[dependency.End{Component: object.Component, Object: object.Resource}] = object.SyncOptions
	}
	ofApplication := map[string][]string{}
	for _, app := range in.Argo.Applications {
		if app.Component != "" {
			ofApplication[app.Component] = append(ofApplication[app.Component], app.SyncOptions...)
		}
	}
	var out []finding.Finding
	for _, d := range in.Dependencies {
		c, enabled := o.byName[d.Consumer.Component]
		if d.Rule != ruleCRD || !d.Within() || !enabled || c.PreArgo || d.Provider.Object.Kind == "" || isCRD(d.Provider.Object) {
			continue
		}
		own := options[dependency.End{Component: d.Consumer.Component, Object: d.Consumer.Object}]
		if skips(own) || skips(c.SyncOptions) || skips(ofApplication[c.Name]) {
			continue
		}
		f := fromDependency(d, finding.Within)
		f.Rule, f.Severity = ruleDryRun, finding.Error
		f.Message = fmt.Sprintf("%s is of a kind that %s brings only once it is applied: without %s the dry run fails, and nothing of %s is ever applied",
			who(d.Consumer), who(d.Provider), skipDryRun, c.Name)
		f.Fix.Summary = fmt.Sprintf("annotate it with argocd.argoproj.io/sync-options: %s and give it a later sync wave than %s", skipDryRun, who(d.Provider))
		out = append(out, f)
	}
	return out
}

func skips(options []string) bool {
	return slices.ContainsFunc(options, func(s string) bool { return strings.TrimSpace(s) == skipDryRun })
}
