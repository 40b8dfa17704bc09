package report

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// UnrenderedBelow is what was not rendered, for people: way leads from where they stand
// to the root of the platform.
func UnrenderedBelow(all []Unrendered, way string) []Unrendered {
	all = slices.Clone(all)
	for i, u := range all {
		all[i].File = position(u.File, 0).Below(way).File
	}
	return all
}

// below is the result of lint for people.
func (l Lint) below() Lint {
	l.Findings, l.Suppressed = slices.Clone(l.Findings), slices.Clone(l.Suppressed)
	for i, f := range l.Findings {
		l.Findings[i] = f.Below(l.Way)
	}
	for i, s := range l.Suppressed {
		l.Suppressed[i].Finding, l.Suppressed[i].By.Position = s.Finding.Below(l.Way), s.By.Position.Below(l.Way)
	}
	l.Unrendered = UnrenderedBelow(l.Unrendered, l.Way)
	return l
}

// Below is the explanation for people.
func (e Explanation) Below(way string) Explanation {
	e.Position = e.Position.Below(way)
	e.Requires, e.RequiredBy = EdgesBelow(e.Requires, way), EdgesBelow(e.RequiredBy, way)
	e.Unrendered = UnrenderedBelow(e.Unrendered, way)
	return e
}

// Below is the report for people.
func (r Rollout) Below(way string) Rollout {
	r.Against, r.Unrendered = EdgesBelow(r.Against, way), UnrenderedBelow(r.Unrendered, way)
	r.Errors, r.Untested = slices.Clone(r.Errors), slices.Clone(r.Untested)
	for _, found := range [][]finding.Finding{r.Errors, r.Untested} {
		for i, f := range found {
			found[i] = f.Below(way)
		}
	}
	return r
}

// Below are the results of checks for people.
func (s Smoke) Below(way string) Smoke {
	s.Components = slices.Clone(s.Components)
	for i, c := range s.Components {
		s.Components[i].Checks = slices.Clone(c.Checks)
		for k, check := range c.Checks {
			s.Components[i].Checks[k].Position = check.Position.Below(way)
		}
	}
	return s
}

// EdgesBelow are edges for people.
func EdgesBelow(all []PlanEdge, way string) []PlanEdge {
	all = slices.Clone(all)
	for i, e := range all {
		all[i].Evidence = finding.EvidenceBelow(e.Evidence, way)
	}
	return all
}
