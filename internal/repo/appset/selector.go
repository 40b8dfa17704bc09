package appset

import (
	"slices"
	"strconv"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Requirement is one expression of a label selector.
type Requirement struct {
	Key, Operator string
	Values        []string
}

// Selector holds for labels that meet all its requirements. Source: Kubernetes,
// label selectors; Argo CD lets values be any text.
type Selector []Requirement

// ParseSelector reads the field selector of a generator; nil where there is none, or
// where it is not valid.
func ParseSelector(of *yamldoc.Value) Selector {
	s, err := parseSelector(of)
	if err != nil {
		return nil
	}
	return s
}

// parseSelector reads the field selector; nil where there is none.
func parseSelector(of *yamldoc.Value) (Selector, *repofs.InputError) {
	v := of.At("selector")
	if v == nil || v.Kind == yamldoc.Null {
		return nil, nil
	}
	s := Selector{}
	if labels := v.At("matchLabels"); labels != nil {
		for _, e := range labels.Entries {
			s = append(s, Requirement{Key: e.Key, Operator: "In", Values: []string{e.Value.Text}})
		}
	}
	expressions := v.At("matchExpressions")
	if expressions == nil {
		return s, nil
	}
	for _, item := range expressions.Items {
		r := Requirement{Key: item.TextAt("key"), Operator: item.TextAt("operator")}
		if list := item.At("values"); list != nil {
			for _, value := range list.Items {
				r.Values = append(r.Values, value.Text)
			}
		}
		if !r.valid() {
			return nil, fail(item.Position, "the operators are In, NotIn, Exists and DoesNotExist", "the selector has an expression that is not valid")
		}
		s = append(s, r)
	}
	return s, nil
}

func (r Requirement) valid() bool {
	switch r.Operator {
	case "In", "NotIn":
		return r.Key != "" && len(r.Values) > 0
	case "Exists", "DoesNotExist":
		return r.Key != "" && len(r.Values) == 0
	case "Gt", "Lt":
		if len(r.Values) != 1 {
			return false
		}
		_, err := strconv.ParseInt(r.Values[0], 10, 64)
		return r.Key != "" && err == nil
	default:
		return false
	}
}

// Matches reports whether all requirements hold.
func (s Selector) Matches(labels map[string]string) bool {
	return !slices.ContainsFunc(s, func(r Requirement) bool { return !r.Matches(labels) })
}

// Matches reports whether the requirement holds for labels.
func (r Requirement) Matches(labels map[string]string) bool {
	value, ok := labels[r.Key]
	switch r.Operator {
	case "In":
		return ok && slices.Contains(r.Values, value)
	case "NotIn":
		return !ok || !slices.Contains(r.Values, value)
	case "Exists":
		return ok
	case "DoesNotExist":
		return !ok
	default: // Gt, Lt
		have, err := strconv.ParseInt(value, 10, 64)
		want, wantErr := strconv.ParseInt(r.Values[0], 10, 64)
		if !ok || err != nil || wantErr != nil {
			return false
		}
		return r.Operator == "Gt" && have > want || r.Operator == "Lt" && have < want
	}
}
