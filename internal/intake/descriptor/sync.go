package descriptor

import (
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
)

// IgnoreDifferences reads the entries of ignoreDifferences, which descriptors
// and Applications write alike.
func IgnoreDifferences(list []*yamlpos.Fields) []component.IgnoreDifference {
	var all []component.IgnoreDifference
	for _, m := range list {
		all = append(all, component.IgnoreDifference{
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
func Retry(m *yamlpos.Fields) component.Retry {
	var r component.Retry
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
