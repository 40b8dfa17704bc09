package descriptor

import (
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// IgnoreDifferences reads the entries of ignoreDifferences, which descriptors
// and Applications write alike.
func IgnoreDifferences(list []*yamldoc.Fields) []model.IgnoreDifference {
	var all []model.IgnoreDifference
	for _, m := range list {
		all = append(all, model.IgnoreDifference{
			Group: m.Text("group"), Kind: m.Text("kind"), Name: m.Text("name"), Namespace: m.Text("namespace"),
			JSONPointers:          m.Strings("jsonPointers"),
			JQPathExpressions:     m.Strings("jqPathExpressions"),
			ManagedFieldsManagers: m.Strings("managedFieldsManagers"),
		})
	}
	return all
}

// Retry reads Argo CD's syncPolicy.retry, the form that descriptors,
// Applications and ladder.yaml share.
func Retry(m *yamldoc.Fields) model.Retry {
	var r model.Retry
	if m == nil {
		return r
	}
	if limit, ok := m.Int("limit"); ok {
		r.Limit = &limit
	}
	backoff := m.Map("backoff")
	r.Duration = backoff.Duration("duration")
	r.MaxDuration = backoff.Duration("maxDuration")
	if factor, ok := backoff.Float("factor"); ok {
		if factor < 1 {
			backoff.Wrong("factor", "", "%s.factor %g is less than 1", backoff.Path, factor)
		} else {
			r.Factor = factor
		}
	}
	return r
}
