package catalogue

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// When is a condition on the values of a chart: one value, all of several, or
// any of several.
type When struct {
	// Value is a dotted path. Without Is the condition holds as Helm's "if" does:
	// not for false, 0, "", and what is empty.
	Value string `json:"value,omitempty"`
	// Default is the value in the chart itself; none means not set.
	Default any `json:"default,omitempty"`
	// Is asks for this very value, Unset for none but the chart's own; Not turns
	// the condition round.
	Is    any    `json:"is,omitempty"`
	Unset bool   `json:"unset,omitempty"`
	Not   bool   `json:"not,omitempty"`
	All   []When `json:"all,omitempty"`
	Any   []When `json:"any,omitempty"`
}

// values are those of a component.
type values struct {
	given map[string]any
	// partial says that more values exist than were given, at the paths withheld where there
	// are any.
	partial  bool
	withheld []string
}

// unknown reports whether a value that is not set may be all the same.
func (v values) unknown(path string) bool {
	return v.partial && (len(v.withheld) == 0 || slices.ContainsFunc(v.withheld, func(w string) bool {
		return strings.HasPrefix(path+".", w+".") || strings.HasPrefix(w, path+".")
	}))
}

// holds evaluates a condition. certain is false where values that are not known
// decide.
func (w *When) holds(v values) (holds, certain bool) {
	switch {
	case w == nil:
		return true, true
	case len(w.All) > 0:
		holds, certain = true, true
		for i := range w.All {
			h, c := w.All[i].holds(v)
			if c && !h {
				return false, true
			}
			holds, certain = holds && h, certain && c
		}
	case len(w.Any) > 0:
		holds, certain = false, true
		for i := range w.Any {
			h, c := w.Any[i].holds(v)
			if c && h {
				return true, true
			}
			holds, certain = holds || h, certain && c
		}
	default:
		found, set := at(v.given, w.Value)
		if !set {
			found = w.Default
		}
		holds, certain = truth(found), set || !v.unknown(w.Value)
		switch {
		case w.Unset:
			holds = !set
		case w.Is != nil:
			holds = same(found, w.Is)
		}
	}
	if w.Not {
		holds = !holds
	}
	return holds, certain
}

// claims reports whether a condition certainly holds.
func (w *When) claims(v values) bool {
	holds, certain := w.holds(v)
	return holds && certain
}

// first is the first value that switches something on where it is true; empty where the
// condition asks for anything else.
func (w *When) first() string {
	switch {
	case w == nil || w.Not:
		return ""
	case len(w.Any) > 0:
		return w.Any[0].first()
	case len(w.All) > 0 || w.Is != nil || w.Unset:
		return ""
	}
	return w.Value
}

// at returns the value at a dotted path. A null that the user wrote is set: it
// takes the chart's default away.
func at(m map[string]any, path string) (any, bool) {
	head, rest, nested := strings.Cut(path, ".")
	v, ok := m[head]
	if !ok || !nested {
		return v, ok
	}
	if v == nil {
		return nil, true
	}
	child, isMap := v.(map[string]any)
	if !isMap {
		return nil, false
	}
	return at(child, rest)
}

func truth(v any) bool {
	if v == nil {
		return false
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Map, reflect.Slice, reflect.String:
		return r.Len() > 0
	default:
		return !r.IsZero()
	}
}

// same compares as text, since the type of a number depends on how it was read.
func same(a, b any) bool { return a != nil && fmt.Sprint(a) == fmt.Sprint(b) }

// check reports what is wrong with the form of a condition.
func (w *When) check() error {
	if w == nil {
		return nil
	}
	forms := 0
	for _, has := range []bool{w.Value != "", len(w.All) > 0, len(w.Any) > 0} {
		if has {
			forms++
		}
	}
	if forms != 1 {
		return errors.New("a condition has one of value, all and any")
	}
	for _, list := range [][]When{w.All, w.Any} {
		for i := range list {
			if err := list[i].check(); err != nil {
				return err
			}
		}
	}
	return nil
}
