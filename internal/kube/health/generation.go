package health

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// staleStatus reports a custom resource whose status is about an older
// generation: whatever the status says, it does not say it of what was applied
// last. The generation is read from status.observedGeneration, else from the
// conditions, where the newest one counts: controllers leave conditions behind
// that they no longer update. A status without either is taken at its word.
func staleStatus(obj *unstructured.Unstructured) (Status, bool) {
	generation := obj.GetGeneration()
	if generation == 0 {
		return Status{}, false
	}
	observed := integer(obj, "status", "observedGeneration")
	if observed == 0 {
		for _, c := range conditions(obj) {
			if n, ok := c["observedGeneration"].(int64); ok {
				observed = max(observed, n)
			}
		}
	}
	if observed == 0 || observed >= generation {
		return Status{}, false
	}
	return Status{
		Health: rollout.Progressing,
		Message: fmt.Sprintf("waiting for the status of generation %d; it is still of generation %d",
			generation, observed),
	}, true
}

// integer reads a number of the object, 0 where there is none. Objects decoded
// from JSON by client-go hold int64, hand-made ones may hold float64.
func integer(obj *unstructured.Unstructured, path ...string) int64 {
	value, found, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil || !found {
		return 0
	}
	switch n := value.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	case int:
		return int64(n)
	default:
		return 0
	}
}

// wanted is integer for a field that is 1 where it is missing.
func wanted(obj *unstructured.Unstructured, path ...string) int64 {
	if _, found, err := unstructured.NestedFieldNoCopy(obj.Object, path...); err != nil || !found {
		return 1
	}
	return integer(obj, path...)
}

// text reads a string of the object, "" where there is none.
func text(obj *unstructured.Unstructured, path ...string) string {
	value, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil {
		return ""
	}
	s, _ := value.(string)
	return s
}

// flag reads a boolean of the object, false where there is none.
func flag(obj *unstructured.Unstructured, path ...string) bool {
	value, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil {
		return false
	}
	b, _ := value.(bool)
	return b
}

// list reads a list of objects, skipping what is not one.
func list(obj *unstructured.Unstructured, path ...string) []map[string]any {
	value, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil {
		return nil
	}
	items, _ := value.([]any)
	out := make([]map[string]any, 0, len(items))
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// conditions reads status.conditions.
func conditions(obj *unstructured.Unstructured) []map[string]any {
	return list(obj, "status", "conditions")
}

// condition returns the condition of a type, nil where there is none.
func condition(obj *unstructured.Unstructured, kind string) map[string]any {
	for _, c := range conditions(obj) {
		if c["type"] == kind {
			return c
		}
	}
	return nil
}

// str reads a string of a condition or other small map.
func str(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}
