package lintcmd

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
)

// coverage counts what was read and rendered in all environments. It rests on what
// the readers said: neither a baseline nor the rules that are wanted change it. A
// reason to suppress what was not read takes that out.
func (j *judgement) coverage() report.Coverage {
	var c report.Coverage
	seen := map[report.UnreadPart]bool{} // several environments may tell of one
	add := func(u finding.Unread) {
		part := report.UnreadPart{Name: cmp.Or(u.Name, u.Position.File), File: u.Position.File, Line: u.Position.Line, Reason: u.Reason}
		switch {
		case u.Template:
			c.Templates = append(c.Templates, part)
			return
		case u.Part || seen[part]:
		case u.Other:
			c.Besides++
		default:
			c.Applications.Found++
		}
		seen[part] = true
		c.Unread = append(c.Unread, part)
	}
	for _, in := range j.inputs {
		read, rendered, parents := countOf(in)
		c.Parents += parents
		c.Applications.Found += read
		c.Applications.Read += read
		c.Applications.Rendered += rendered
		if in.Flux != nil {
			c.Noun = "component" // Kustomizations and HelmReleases
		}
		for _, f := range in.Findings {
			if len(f.Unread) == 0 && f.Rule != argocd.RuleAssumed {
				continue
			}
			f = f.Redacted()
			if f.Rule == argocd.RuleAssumed {
				c.Assumptions = append(c.Assumptions, report.Assumption{Text: f.Message, File: f.Position.File, Line: f.Position.Line})
			}
			if !j.accepted(f) {
				for _, u := range f.Unread {
					add(u)
				}
			}
		}
	}
	for _, problem := range repo.InputErrors(j.broken) {
		add(finding.Unread{Position: problem.Position, Reason: finding.Plain(finding.Redact(problem.Message))})
	}
	for _, u := range j.unrendered {
		add(finding.Unread{Name: u.Component, Position: finding.Position{File: u.File, Line: u.Line}, Reason: u.Reason, Part: true})
	}
	return c.Sorted()
}

// countOf counts the Applications of an environment: the components that stand for
// them, and the parents that apply nothing but Applications.
func countOf(in lint.Input) (read, rendered, parents int) {
	lacking := map[string]bool{}
	for _, name := range in.Unrendered {
		lacking[name] = true
	}
	named, stands := map[string]bool{}, map[string]bool{}
	for _, app := range in.Argo.Applications {
		stands[app.Component] = true
	}
	for _, c := range in.Components {
		named[c.Name] = true
		// What somebody applies beside the Applications is none.
		if !c.Enabled || c.AppOfApps && len(stands) > 0 && !stands[c.Name] {
			continue
		}
		read++
		if !lacking[c.Name] {
			rendered++
		}
	}
	for _, app := range in.Argo.Applications {
		if app.Component == "" && !named[app.Name] {
			read++
			rendered++
			parents++
		}
	}
	return read, rendered, parents
}

// accepted reports whether a finding is suppressed, with a reason.
func (j *judgement) accepted(f finding.Finding) bool {
	return slices.ContainsFunc(j.suppressed, func(s lint.Suppressed) bool {
		return s.Finding.Rule == f.Rule && s.Finding.Environment == f.Environment && reflect.DeepEqual(s.Finding.Unread, f.Unread)
	})
}
