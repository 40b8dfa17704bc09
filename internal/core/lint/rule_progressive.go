package lint

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const (
	ruleProgressive = "progressive-syncs-off"
	// progressiveKey switches RollingSync on, in argocd-cmd-params-cm.
	progressiveKey = "applicationsetcontroller.enable.progressive.syncs"
)

// progressiveSyncsOff finds ApplicationSets whose RollingSync orders nothing, since
// the settings of the installation are in the repository and do not switch it on.
// Source: Argo CD, operator manual, "Progressive Syncs".
func progressiveSyncsOff(in Input) []finding.Finding {
	s := in.Argo.Settings
	stray := slices.IndexFunc(s.Stray, func(x argo.Stray) bool { return x.Key == progressiveKey })
	off := s.ProgressiveSyncs
	if off.On || off.Unread != "" || stray < 0 && s.Started.File == "" {
		return nil
	}
	var why finding.Evidence
	fix := "set " + progressiveKey + `: "true" in argocd-cmd-params-cm (configs.params of the chart argo-cd), or give the ApplicationSet controller --enable-progressive-syncs`
	switch {
	case stray >= 0:
		x := s.Stray[stray]
		why = where(x.Position, "%s stands in %s, where nothing reads it", x.Key, x.In)
		fix = "move it to " + x.Home
	case off.Position.File != "":
		why = where(off.Position, "progressive syncs are set to %q, which is not on", off.Text)
	default:
		why = where(s.Started, "these settings of Argo CD do not switch progressive syncs on, and off is the default")
	}
	var out []finding.Finding
	for _, set := range in.Argo.ApplicationSets {
		if !set.RollingSync || len(set.Steps) == 0 {
			continue
		}
		f := aboutSet(set, ruleProgressive, set.Steps[0].Position,
			"ApplicationSet %s orders with RollingSync, but progressive syncs are not switched on: its %s order nothing, and all its Applications sync at once",
			set.Name, finding.Count(len(set.Steps), "step"))
		f.Evidence = append(f.Evidence, why)
		f.Fix.Summary = fix
		out = append(out, f)
	}
	return out
}
