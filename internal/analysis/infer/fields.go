package infer

import (
	"maps"
	"slices"
	"strconv"
)

// text reads a string below nested mappings; "" when it is not there.
func text(m map[string]any, path ...string) string {
	s, _ := value(m, path...).(string)
	return s
}

func mapping(m map[string]any, path ...string) map[string]any {
	out, _ := value(m, path...).(map[string]any)
	return out
}

func list(m map[string]any, path ...string) []any {
	out, _ := value(m, path...).([]any)
	return out
}

func truth(m map[string]any, path ...string) bool {
	b, _ := value(m, path...).(bool)
	return b
}

func value(m map[string]any, path ...string) any {
	var current any = m
	for _, part := range path {
		next, ok := current.(map[string]any)
		if !ok {
			return nil
		}
		current = next[part]
	}
	return current
}

// each calls visit for the mappings of a list, with their path.
func each(entries []any, path string, visit func(m map[string]any, path string)) {
	for i, entry := range entries {
		if m, ok := entry.(map[string]any); ok {
			visit(m, path+bracket(i))
		}
	}
}

// everywhere calls visit for every mapping below a value, with its path and
// the name of the field it stands in, in a fixed order.
func everywhere(v any, path, field string, visit func(m map[string]any, path, field string)) {
	switch x := v.(type) {
	case map[string]any:
		visit(x, path, field)
		for _, k := range slices.Sorted(maps.Keys(x)) {
			everywhere(x[k], path+"."+k, k, visit)
		}
	case []any:
		for i, e := range x {
			everywhere(e, path+bracket(i), field, visit)
		}
	}
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func bracket(i int) string { return "[" + strconv.Itoa(i) + "]" }

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}
