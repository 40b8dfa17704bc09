package lint

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const (
	ruleDependsOn = "depends-on-forbidden"
	ruleAutomated = "automated-sync-under-rollingsync"
)

// dependsOnForbidden finds Applications that try to order themselves with a field
// that Argo CD does not have.
func dependsOnForbidden(in Input) []finding.Finding {
	seen := map[finding.Position]bool{}
	var out []finding.Finding
	for _, app := range slices.Concat(in.Argo.Applications, in.Argo.Above) {
		at := app.DependsOn
		if at == (finding.Position{}) || seen[at] {
			continue // all Applications of a template have it from one line
		}
		seen[at] = true
		f := aboutApplication(app, ruleDependsOn, finding.Error,
			"%s has spec.dependsOn, which is not a field of Applications: Argo CD orders nothing by it", app.Name)
		f.Position = at
		f.Fix.Summary = "order with sync waves under a parent or with RollingSync steps; declare the requirement in a descriptor or by the annotation ladder.rollout-ladder.dev/requires"
		out = append(out, f)
	}
	return out
}

// automatedUnderRollingSync finds ApplicationSets whose template asks for
// self-heal while RollingSync orders them. The controller takes the automated sync
// off, and syncs what is out of sync itself, step by step; it prunes where
// automated.prune is set. Source: argo-cd, applicationset_controller.go,
// syncValidApplications.
func automatedUnderRollingSync(in Input) []finding.Finding {
	var out []finding.Finding
	for _, g := range generated(in.Argo) {
		n := 0
		for _, app := range g.applications {
			if app.SelfHeal {
				n++
			}
		}
		if n == 0 {
			continue
		}
		f := aboutSet(g.set, ruleAutomated, g.set.Template,
			"ApplicationSet %s orders with RollingSync, which switches the automated sync of %s off: what is out of sync waits for its step, and selfHeal does nothing",
			g.set.Name, finding.Count(n, "Application"))
		f.Severity = finding.Info
		f.Evidence = append(f.Evidence, where(g.set.Position, "%s has %s", g.set.Name, finding.Count(len(g.set.Steps), "RollingSync step")))
		f.Fix.Summary = "leave of automated only what RollingSync heeds: prune"
		out = append(out, f)
	}
	return out
}
