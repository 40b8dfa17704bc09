package lintcmd

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// suppress hides the findings that files or ladder.yaml suppress, and reports
// suppressions that say nothing.
func (j *judgement) suppress(p *repo.Platform) {
	var by []lint.Suppression
	for _, s := range p.Lint.Suppress {
		by = append(by, lint.Suppression{Rule: s.Rule, Component: s.Component, Reason: s.Reason, Position: s.Position})
	}
	by = append(by, j.written()...)
	if len(by) == 0 {
		return
	}
	kept, hidden, unused := lint.Suppress(j.findings, by, j.components())
	var about []finding.Finding
	for _, s := range unused {
		if f, ok := j.unused(s); ok {
			about = append(about, f)
		}
	}
	j.findings = slices.Concat(kept, lint.Settle(about, j.settings))
	j.suppressed = append(j.suppressed, hidden...)
}

// written are the suppressions in files, which are read side by side.
func (j *judgement) written() []lint.Suppression {
	names := j.files()
	all := make([][]lint.Suppression, len(names))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range names {
		group.Go(func() error {
			// What cannot be read has been reported by those who needed it.
			if content, err := j.tree.Read(file); err == nil {
				all[i] = lint.Suppressions(file, string(content))
			}
			return nil
		})
	}
	_ = group.Wait() // nothing fails
	return slices.Concat(all...)
}

// files are those that components are made of, sorted.
func (j *judgement) files() []string {
	seen := map[string]bool{}
	for _, in := range j.inputs {
		for _, c := range in.Components {
			seen[c.Position.File] = true
		}
		for _, o := range in.Objects {
			seen[o.Position.File] = true
		}
		for _, a := range in.Argo.Applications {
			seen[a.Position.File] = true
		}
		for _, s := range in.Argo.ApplicationSets {
			seen[s.Position.File] = true
		}
	}
	for _, f := range j.findings {
		seen[f.Position.File] = true
	}
	delete(seen, "")
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unused is the finding about a suppression that hides nothing. That one of a
// real rule with a reason is needless follows only where everything was judged.
func (j *judgement) unused(s lint.Suppression) (finding.Finding, bool) {
	f := finding.Finding{
		Rule: lint.RuleUnusedSuppression, Severity: finding.Warning, Scope: finding.Rule, Component: s.Component,
		Position: s.Position, Basis: finding.Declared,
	}
	ids := lint.IDs(j.settings.Rules)
	switch {
	case !slices.Contains(ids, s.Rule):
		f.Message = fmt.Sprintf("the suppression names %q, which is no rule", s.Rule)
		f.Fix.Summary = cmp.Or(yamldoc.Meant(s.Rule, ids), "ladder explain lists the rules")
	case s.Reason == "":
		f.Message = fmt.Sprintf("the suppression of %s gives no reason, so it hides nothing", s.Rule)
		f.Fix.Summary = "write the reason after the name of the rule"
	case !j.complete || len(j.unrendered) > 0:
		return f, false
	default:
		f.Severity = finding.Info
		f.Message = fmt.Sprintf("the suppression of %s hides no finding", s.Rule)
		f.Fix.Summary = "remove it"
	}
	return f, true
}

// acceptances are the differences between environments that ladder.yaml accepts.
func acceptances(p *repo.Platform) []lint.Acceptance {
	var list []lint.Acceptance
	for _, a := range p.Lint.Parity {
		list = append(list, lint.Acceptance{Component: a.Component, Environments: a.Environments, Reason: a.Reason, Position: a.Position})
	}
	return list
}

// idle are the findings about acceptances that accept nothing.
func idle(unused []lint.Acceptance) []finding.Finding {
	var found []finding.Finding
	for _, a := range unused {
		found = append(found, finding.Finding{
			Rule: lint.RuleUnusedSuppression, Severity: finding.Info, Scope: finding.Rule, Component: a.Component,
			Position: a.Position, Basis: finding.Declared,
			Message: "the environments do not differ in what this accepts", Fix: finding.Fix{Summary: "remove it"},
		})
	}
	return found
}
