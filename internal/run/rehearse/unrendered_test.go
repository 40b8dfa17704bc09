package rehearse

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// TestJudge: a rehearsal that shows less than its components say has not succeeded.
func TestJudge(t *testing.T) {
	nothing := finding.Finding{Rule: lint.RuleSmokeTestsNothing, Severity: finding.Error, Component: "smoke"}
	mild := finding.Finding{Rule: lint.RuleSmokeTestsNothing, Severity: finding.Warning, Component: "smoke"}
	other := finding.Finding{Rule: "assumed", Severity: finding.Warning}
	wrong := finding.Finding{Rule: "unknown-requirement", Severity: finding.Error}
	lacking := []report.Unrendered{{Component: "a"}}
	for name, c := range map[string]struct {
		allow      bool
		unrendered []report.Unrendered
		found      []finding.Finding
		begins     rollout.Result
		want       rollout.Result
		untested   int
		errors     int
		unshown    string
	}{
		"all is well":                    {found: []finding.Finding{other}, begins: rollout.Succeeded, want: rollout.Succeeded},
		"not all is rendered":            {unrendered: lacking, begins: rollout.Succeeded, want: rollout.ResultFailed, unshown: "1 component not rendered (only --allow-unrendered lets that pass)"},
		"that is allowed":                {allow: true, unrendered: lacking, begins: rollout.Succeeded, want: rollout.Succeeded},
		"a smoke tests nothing":          {allow: true, found: []finding.Finding{other, nothing}, begins: rollout.Succeeded, want: rollout.ResultFailed, untested: 1, unshown: "1 smoke tests nothing"},
		"the repository has an error":    {found: []finding.Finding{other, wrong}, begins: rollout.Succeeded, want: rollout.Succeeded, errors: 1},
		"it may, as somebody decided":    {found: []finding.Finding{mild}, begins: rollout.Succeeded, want: rollout.Succeeded},
		"what ended otherwise stays so":  {found: []finding.Finding{nothing}, begins: rollout.ResultTimedOut, want: rollout.ResultTimedOut, untested: 1, unshown: "1 smoke tests nothing"},
		"what was left early stays open": {found: []finding.Finding{nothing}, begins: report.ResultInterrupted, want: report.ResultInterrupted, untested: 1, unshown: "1 smoke tests nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Rehearsal{Report: report.Rollout{Result: string(c.begins), Unrendered: c.unrendered}}
			o := Options{AllowUnrendered: c.allow}
			if got := o.unshown(c.unrendered, c.found); got != c.unshown {
				t.Errorf("not shown: %q, want %q", got, c.unshown)
			}
			o.judge(&r, c.found)
			if r.Report.Result != string(c.want) || len(r.Report.Untested) != c.untested || len(r.Report.Errors) != c.errors || len(r.Findings) != len(c.found)-c.untested-c.errors {
				t.Errorf("result %s, untested %v, errors %v, beside the report %v", r.Report.Result, r.Report.Untested, r.Report.Errors, r.Findings)
			}
		})
	}
}
