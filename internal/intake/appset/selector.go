package appset

import (
	"slices"
	"strconv"

	"github.com/rollout-ladder/ladder/internal/intake/files"
	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
)

// requirement is one expression of a label selector.
type requirement struct {
	key, operator string
	values        []string
}

// selector holds for labels that meet all its requirements. Source: Kubernetes,
// label selectors; Argo CD lets values be any text.
type selector []requirement

// parseSelector reads the field selector; nil where there is none.
func parseSelector(of *yamlpos.Value) (selector, *files.InputError) {
	v := of.At("selector")
	if v == nil || v.Kind == yamlpos.Null {
		return nil, nil
	}
	s := selector{}
	if labels := v.At("matchLabels"); labels != nil {
		for _, e := range labels.Entries {
			s = append(s, requirement{key: e.Key, operator: "In", values: []string{e.Value.Text}})
		}
	}
	expressions := v.At("matchExpressions")
	if expressions == nil {
		return s, nil
	}
	for _, item := range expressions.Items {
		r := requirement{key: item.TextAt("key"), operator: item.TextAt("operator")}
		if list := item.At("values"); list != nil {
			for _, value := range list.Items {
				r.values = append(r.values, value.Text)
			}
		}
		if !r.valid() {
			return nil, fail(item.Position, "the operators are In, NotIn, Exists and DoesNotExist", "the selector has an expression that is not valid")
		}
		s = append(s, r)
	}
	return s, nil
}

func (r requirement) valid() bool {
	switch r.operator {
	case "In", "NotIn":
		return r.key != "" && len(r.values) > 0
	case "Exists", "DoesNotExist":
		return r.key != "" && len(r.values) == 0
	case "Gt", "Lt":
		if len(r.values) != 1 {
			return false
		}
		_, err := strconv.ParseInt(r.values[0], 10, 64)
		return r.key != "" && err == nil
	default:
		return false
	}
}

func (s selector) matches(labels map[string]string) bool {
	return !slices.ContainsFunc(s, func(r requirement) bool { return !r.matches(labels) })
}

func (r requirement) matches(labels map[string]string) bool {
	value, ok := labels[r.key]
	switch r.operator {
	case "In":
		return ok && slices.Contains(r.values, value)
	case "NotIn":
		return !ok || !slices.Contains(r.values, value)
	case "Exists":
		return ok
	case "DoesNotExist":
		return !ok
	default: // Gt, Lt
		have, err := strconv.ParseInt(value, 10, 64)
		want, wantErr := strconv.ParseInt(r.values[0], 10, 64)
		if !ok || err != nil || wantErr != nil {
			return false
		}
		return r.operator == "Gt" && have > want || r.operator == "Lt" && have < want
	}
}
