package lintcmd

import (
	"reflect"
	"slices"

	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/intake"
	"github.com/rollout-ladder/ladder/internal/intake/argocd"
	"github.com/rollout-ladder/ladder/internal/lint"
	"github.com/rollout-ladder/ladder/internal/report"
)

// coverage counts what was read and rendered in all environments. It rests on what
// the readers said: neither a baseline nor the rules that are wanted change it. A
// reason to suppress what was not read takes that out.
func (j *judgement) coverage() report.Coverage {
	var c report.Coverage
	seen := map[report.UnreadPart]bool{} // several environments may tell of one
	for _, in := range j.inputs {
		a := countOf(in)
		for _, f := range in.Findings {
			f = f.Redacted()
			if f.Rule == argocd.RuleAssumed {
				c.Assumptions = append(c.Assumptions, report.Assumption{Text: f.Message, File: f.Position.File, Line: f.Position.Line})
			}
			if len(f.Unread) == 0 || j.accepted(f) {
				continue
			}
			for _, u := range f.Unread {
				part := report.UnreadPart{Name: u.Name, File: u.Position.File, Line: u.Position.Line, Reason: u.Reason}
				if seen[part] {
					continue
				}
				seen[part] = true
				c.Unread = append(c.Unread, part)
				if !u.Part {
					a.Found++
				}
			}
		}
		c.Applications.Found += a.Found
		c.Applications.Read += a.Read
		c.Applications.Rendered += a.Rendered
	}
	for _, problem := range intake.InputErrors(j.broken) {
		c.Applications.Found++
		c.Unread = append(c.Unread, report.UnreadPart{
			File: problem.Position.File, Line: problem.Position.Line, Reason: finding.Plain(finding.Redact(problem.Message)),
		})
	}
	for _, u := range j.unrendered {
		c.Unread = append(c.Unread, report.UnreadPart{Name: u.Component, File: u.File, Line: u.Line, Reason: u.Reason})
	}
	return c.Sorted()
}

// countOf counts the Applications of an environment: the components that stand for
// them, and the parents that apply nothing but Applications.
func countOf(in lint.Input) (a report.ApplicationCount) {
	named := map[string]bool{}
	for _, c := range in.Components {
		named[c.Name] = true
		if !c.Enabled {
			continue
		}
		a.Read++
		if !slices.Contains(in.Unrendered, c.Name) {
			a.Rendered++
		}
	}
	for _, app := range in.Argo.Applications {
		if app.Component == "" && !named[app.Name] {
			a.Read++
			a.Rendered++
		}
	}
	a.Found = a.Read
	return a
}

// accepted reports whether a finding is suppressed, with a reason.
func (j *judgement) accepted(f finding.Finding) bool {
	return slices.ContainsFunc(j.suppressed, func(s lint.Suppressed) bool {
		return s.Finding.Rule == f.Rule && s.Finding.Environment == f.Environment && reflect.DeepEqual(s.Finding.Unread, f.Unread)
	})
}
