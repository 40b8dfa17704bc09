package rehearse

import (
	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
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
		case f.Rule == lint.RuleSmokeTestsNothing:
			r.Report.Untested = append(r.Report.Untested, f)
		default:
			r.Report.Errors = append(r.Report.Errors, f)
		}
	}
	lacking := len(r.Report.Unrendered) > 0 && !o.AllowUnrendered
	if r.Report.Result == string(rollout.Succeeded) && (lacking || len(r.Report.Untested) > 0) {
		r.Report.Result = string(rollout.ResultFailed)
	}
}
