package rehearse

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// check refuses what would say nothing: faults that do nothing, and a platform of which
// nothing is rendered.
func (o Options) check(loaded *analysis.Result) error {
	if lacking := session.Lacking(loaded); len(lacking) > 0 && len(lacking) == len(session.Enabled(loaded)) && !o.AllowUnrendered {
		return &session.UnrenderedError{Unrendered: session.Unrendered(loaded)}
	}
	return checkFaults(loaded, o)
}

// judge has a rehearsal fail that shows less than its components say: not everything was
// rendered, so that something stood in as an empty component, or nothing of a smoke can
// fail. The report tells such smokes, and all other errors.
func (o Options) judge(r *Rehearsal, found []finding.Finding) {
	for _, f := range found {
		f.Evidence = append([]finding.Evidence{}, f.Evidence...) // a list in JSON, empty or not
		switch {
		case f.Severity != finding.Error:
			r.Findings = append(r.Findings, f)
		case testsNothing(f):
			r.Report.Untested = append(r.Report.Untested, f)
		default:
			r.Report.Errors = append(r.Report.Errors, f)
		}
	}
	if r.Report.Result == string(rollout.Succeeded) && o.unshown(r.Report.Unrendered, found) != "" {
		r.Report.Result = string(rollout.ResultFailed)
	}
}

// unshown says why a rehearsal fails whose rollout succeeds; empty where it does not.
func (o Options) unshown(unrendered []report.Unrendered, found []finding.Finding) string {
	var reasons []string
	if n := report.NotWhole(unrendered); n > 0 && !o.AllowUnrendered {
		reasons = append(reasons, finding.Count(n, "component")+" not rendered (only --allow-unrendered lets that pass)")
	}
	untested := slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool { return !testsNothing(f) })
	return strings.Join(append(reasons, report.Rollout{Untested: untested}.Shortcomings()...), "; ")
}

func testsNothing(f finding.Finding) bool {
	return f.Severity == finding.Error && f.Rule == lint.RuleSmokeTestsNothing
}
