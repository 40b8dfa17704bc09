package argocd

import (
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// The rules of the findings that reading Applications can make.
const (
	// RuleNotRead says that something was left out, and why.
	RuleNotRead = "not-read"
	// RuleAssumed says that something is taken to be so that the repository does not
	// say.
	RuleAssumed = "assumed"
	// RuleMissing says that a file that something names is not there.
	RuleMissing = "file-missing"
	// RuleInvalid says that a field has the wrong type or value.
	RuleInvalid = "invalid-field"
	// RuleShared says that two parents apply one Application.
	RuleShared = "duplicate-resource"
	// RuleWave says that a sync wave is not a quoted number.
	RuleWave = "wave-not-a-string"
	// RuleMisplaced says that a sync wave is written where it does not count.
	RuleMisplaced = "wave-misplaced"
	// RuleUnheeded says that no sync reads the waves of Applications.
	RuleUnheeded = "wave-heeded-by-nobody"
	// RuleUnknown says that nothing reads a field.
	RuleUnknown = "unknown-field"
	// RuleOption says that Argo CD passes over an option.
	RuleOption = "sync-option"
	// RuleUnprovided says that nothing serves the kind of what is applied.
	RuleUnprovided = "unprovided"
	// RuleNothing says that a source applies nothing, or leaves subfolders out.
	RuleNothing = "nothing-applied"
	// RuleCycle says that Applications apply each other in a circle.
	RuleCycle = "cycle"
)

func newFinding(rule string, severity finding.Severity, at finding.Position, component, format string, args ...any) finding.Finding {
	return finding.Finding{
		Rule: rule, Severity: severity, Scope: finding.Rule, Component: component,
		Message: fmt.Sprintf(format, args...), Position: at, Basis: finding.Declared,
	}
}

// circle tells of an app-of-apps that contains itself. Argo CD applies it, and
// whoever lets it manage its own Applications may want that; but where the health
// of Applications is assessed, each of them waits for the others.
func circle(applications []string, at finding.Position) finding.Finding {
	f := newFinding(RuleCycle, finding.Warning, at, applications[0], "the app-of-apps contains itself: %s; to delete one of these Applications may delete all, and none becomes Healthy where the health of Applications is assessed",
		strings.Join(applications, " -> "))
	f.Fix.Summary = "take the Application out of the source of its own child"
	return f
}

// tell reports unreadable input as findings.
func (r *Repository) tell(component string, err error) {
	for _, problem := range repofs.InputErrors(err) {
		f := notRead(problem.Position, component, "%s", problem.Message)
		f.Severity, f.Fix.Summary = finding.Error, problem.Hint
		r.findings = append(r.findings, f)
	}
}

// distinct drops findings that were made twice, and keeps the gravest: a source that is
// looked at again says the same again, and a file that an Application needs counts more.
func distinct(findings []finding.Finding) []finding.Finding {
	index := map[string]int{}
	var out []finding.Finding
	for _, f := range findings {
		key := f.Rule + "|" + f.Position.String() + "|" + f.Component + "|" + f.Message
		i, seen := index[key]
		switch {
		case !seen:
			index[key] = len(out)
			out = append(out, f)
		case f.Severity.Rank() < out[i].Severity.Rank():
			out[i] = f
		}
	}
	return out
}
