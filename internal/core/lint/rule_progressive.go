package lint

import (
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const ruleProgressive = "progressive-syncs-off"

// isProgressiveOff reports whether progressive syncs are known to be off.
func isProgressiveOff(s argo.Settings) bool {
	off := s.ProgressiveSyncs
	return !off.On && off.Unread == "" && (strayProgressive(s) >= 0 || s.Started.File != "")
}

func strayProgressive(s argo.Settings) int {
	return slices.IndexFunc(s.Stray, func(x argo.Stray) bool { return x.Key == argo.ProgressiveSyncsKey })
}

// progressiveSyncsOff finds ApplicationSets whose RollingSync orders nothing, since
// the settings of the installation are in the repository and do not switch it on.
// Where they are elsewhere, one set speaks for all. Source: Argo CD, operator manual,
// "Progressive Syncs".
func progressiveSyncsOff(in Input) []finding.Finding {
	s := in.Argo.Settings
	rolling := slices.DeleteFunc(slices.Clone(in.Argo.ApplicationSets), func(set argo.ApplicationSet) bool {
		return !set.RollingSync || len(set.Steps) == 0
	})
	switch off := s.ProgressiveSyncs; {
	case len(rolling) == 0, off.On, off.Unread != "":
		return nil
	case !isProgressiveOff(s):
		return []finding.Finding{progressiveSyncsUnknown(rolling)}
	}
	stray, off := strayProgressive(s), s.ProgressiveSyncs
	var why finding.Evidence
	fix := switchOn
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
	for _, set := range rolling {
		f := aboutSet(set, ruleProgressive, set.Steps[0].Position,
			"ApplicationSet %s orders with RollingSync, but progressive syncs are not switched on: its %s order nothing, and all its Applications sync at once",
			set.Name, finding.Count(len(set.Steps), "step"))
		f.Evidence = append(f.Evidence, why)
		f.Fix.Summary = fix
		out = append(out, f)
	}
	return out
}

const switchOn = "set " + argo.ProgressiveSyncsKey + `: "true" in argocd-cmd-params-cm (configs.params of the chart argo-cd), or give the ApplicationSet controller --enable-progressive-syncs`

func progressiveSyncsUnknown(rolling []argo.ApplicationSet) finding.Finding {
	first := rolling[0]
	f := aboutSet(first, ruleProgressive, first.Steps[0].Position,
		"ApplicationSet %s orders with RollingSync, which is off by default; how Argo CD is started is not in this repository and may switch it on", first.Name)
	f.Severity = finding.Info
	if others := len(rolling) - 1; others > 0 {
		f.Message += fmt.Sprintf(" (so it is for %s)", finding.Count(others, "other ApplicationSet"))
	}
	f.Fix.Summary = switchOn
	return f
}
