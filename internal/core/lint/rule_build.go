package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const (
	ruleBuild  = "build-option-missing"
	ruleQuoted = "build-option-quoted"
)

// buildOptionQuoted finds options of kustomize build in quotes.
func buildOptionQuoted(in Input) []finding.Finding {
	var out []finding.Finding
	for _, b := range in.Argo.Settings.Build {
		word, quoted := b.Quoted()
		if !quoted {
			continue
		}
		out = append(out, finding.Finding{
			Rule: ruleQuoted, Severity: finding.Error, Scope: finding.Rule, Position: b.Position, Basis: finding.Declared,
			Message: fmt.Sprintf("Argo CD splits kustomize.buildOptions at blanks and passes quotes on: kustomize gets the word %s, and builds no kustomization", word),
			Fix:     finding.Fix{Summary: "write the options without quotes but those of YAML around the whole value"},
		})
	}
	return out
}

// buildOptionMissing finds what kustomize does not build with the options that the
// settings of the installation give, which are in the repository. Ladder builds it all
// the same. One Application speaks for all that need the same.
func buildOptionMissing(in Input) []finding.Finding {
	s := in.Argo.Settings
	told := map[string]int{}
	also := map[string][]string{}
	// Of two definitions of one Application the other one is in the platform.
	defined := map[string]bool{}
	for _, app := range in.Argo.Applications {
		defined[app.Namespace+"/"+app.Name] = defined[app.Namespace+"/"+app.Name] || app.Component != ""
	}
	var out []finding.Finding
	for _, app := range in.Argo.Applications {
		another := app.Component == "" && defined[app.Namespace+"/"+app.Name]
		for _, n := range app.Needs {
			if another || !s.Refuses(n) && !s.Lacks(n) {
				continue
			}
			key := n.Option + n.Version
			if i, again := told[key]; again {
				if len(out[i].Evidence) < 4 && !slices.ContainsFunc(out[i].Evidence, func(e finding.Evidence) bool { return e.File == n.Position.File && e.Line == n.Position.Line }) {
					out[i].Evidence = append(out[i].Evidence, where(n.Position, "%s %s", app.Name, n.Reason))
				}
				also[key] = append(also[key], app.Name)
				continue
			}
			told[key] = len(out)
			out = append(out, unbuilt(app, n, s))
		}
	}
	for key, i := range told {
		if others := len(slices.Compact(also[key])); others > 0 {
			out[i].Message += fmt.Sprintf(" (so it is for %s)", finding.Count(others, "other Application"))
		}
	}
	return out
}

func unbuilt(app argo.Application, n argo.BuildNeed, s argo.Settings) finding.Finding {
	severity, at := finding.Warning, s.Whole
	if len(s.Build) > 0 {
		severity, at = finding.Error, s.Build[0].Position
	}
	if n.Option == "" {
		f := aboutApplication(app, ruleBuild, finding.Warning, "%s %s, which the settings of Argo CD do not have: Argo CD does not build it", app.Name, n.Reason)
		f.Position = n.Position
		f.Evidence = append(f.Evidence, where(cmp.Or(s.Whole, s.Position), "these settings of Argo CD do not have that version"))
		f.Fix.Summary = fmt.Sprintf("register it as kustomize.path.%s in argocd-cm, or drop the version", n.Version)
		return f
	}
	f := aboutApplication(app, ruleBuild, severity, "%s %s, for which kustomize needs %s: Argo CD does not build it", app.Name, n.Reason, n.Option)
	f.Position = n.Position
	f.Evidence = append(f.Evidence, where(at, "kustomize.buildOptions of these settings of Argo CD do not have it"))
	f.Fix.Summary = fmt.Sprintf("add %s to kustomize.buildOptions in argocd-cm", n.Option)
	if s.Lacks(n) {
		f.Severity = finding.Info
		f.Message = fmt.Sprintf("%s %s, for which kustomize needs %s: Argo CD does not build it without, and its settings are not in this repository", app.Name, n.Reason, n.Option)
		f.Evidence = nil
		if s.Known {
			f.Message = fmt.Sprintf("%s %s, for which kustomize needs %s: the argocd-cm of this repository does not have it, and what installs Argo CD, which is not here, may", app.Name, n.Reason, n.Option)
			f.Evidence = []finding.Evidence{where(s.Position, "these settings of Argo CD have no kustomize.buildOptions")}
		}
	}
	return f
}
