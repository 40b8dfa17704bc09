package rehearse

import (
	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// check refuses what would say nothing: faults that do nothing, and a platform of which
// nothing is rendered.
func (o Options) check(loaded *analysis.Result) error {
	lacking := map[string]bool{}
	unrendered := session.Unrendered(loaded)
	for _, u := range unrendered {
		lacking[u.Component] = true
	}
	if len(lacking) > 0 && len(lacking) == len(session.Enabled(loaded)) && !o.AllowUnrendered {
		return &session.UnrenderedError{Unrendered: unrendered}
	}
	return checkFaults(loaded, o)
}

// judge has a rollout fail of which not everything was rendered: what stood in as an empty
// component shows nothing.
func (o Options) judge(r *report.Rollout) {
	if len(r.Unrendered) > 0 && !o.AllowUnrendered && r.Result == string(rollout.Succeeded) {
		r.Result = string(rollout.ResultFailed)
	}
}
