package yamlpos

import (
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/finding"
)

// Kind is the shape of a value.
type Kind int

// The kinds of value.
const (
	Null Kind = iota
	Scalar
	List
	Map
)

// String names the kind for messages.
func (k Kind) String() string {
	switch k {
	case Scalar:
		return "a scalar"
	case List:
		return "a list"
	case Map:
		return "a map"
	default:
		return "nothing"
	}
}

// Value is one YAML value. Aliases are followed and merge keys are merged; an
// alias shares the value, and the position, of its anchor.
type Value struct {
	Kind Kind
	// Text is a scalar as written, without quotes: "010", "true".
	Text string
	// Items are the elements of a list.
	Items []*Value
	// Entries are those of a map, in the order written.
	Entries  []Entry
	Position finding.Position

	tag  string
	node *yaml.Node
}

// Entry is one key of a map with its value.
type Entry struct {
	Key   string
	Value *Value
	// Position is that of the key.
	Position finding.Position
}

// Get returns the entry of a key.
func (v *Value) Get(key string) (Entry, bool) {
	if v == nil {
		return Entry{}, false
	}
	for _, e := range v.Entries {
		if e.Key == key {
			return e, true
		}
	}
	return Entry{}, false
}

// At returns the value at a path of keys, or nil.
func (v *Value) At(keys ...string) *Value {
	for _, k := range keys {
		e, ok := v.Get(k)
		if !ok {
			return nil
		}
		v = e.Value
	}
	return v
}

// TextAt returns the text of the scalar at a path of keys, or "".
func (v *Value) TextAt(keys ...string) string {
	found := v.At(keys...)
	if found == nil || found.Kind != Scalar {
		return ""
	}
	return found.Text
}

// IsString reports whether a scalar is text, as opposed to a number, boolean
// or date.
func (v *Value) IsString() bool { return v.Kind == Scalar && v.tag == "!!str" }

// Bool returns a YAML boolean.
func (v *Value) Bool() (b, ok bool) {
	if v.Kind != Scalar || v.tag != "!!bool" {
		return false, false
	}
	err := v.node.Decode(&b)
	return b, err == nil
}

// Any returns the value in the types of encoding/json with integers kept:
// string, int64, float64, bool, nil, []any, map[string]any.
func (v *Value) Any() any {
	switch v.Kind {
	case Scalar:
		return v.scalar()
	case List:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = item.Any()
		}
		return list
	case Map:
		m := make(map[string]any, len(v.Entries))
		for _, e := range v.Entries {
			m[e.Key] = e.Value.Any()
		}
		return m
	default:
		return nil
	}
}

func (v *Value) scalar() any {
	switch v.tag {
	case "!!bool":
		if b, ok := v.Bool(); ok {
			return b
		}
	case "!!int":
		var n int64
		if v.node.Decode(&n) == nil {
			return n
		}
		if f, err := strconv.ParseFloat(v.Text, 64); err == nil {
			return f
		}
	case "!!float":
		var f float64
		if v.node.Decode(&f) == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
	}
	return v.Text
}

// Walk calls visit for the entries and items below v with their dotted paths:
// "chart.valueFiles[1]". The position of an entry is that of its key.
func (v *Value) Walk(visit func(path string, position finding.Position)) {
	v.walk("", visit)
}

func (v *Value) walk(path string, visit func(string, finding.Position)) {
	for _, e := range v.Entries {
		p := Join(path, e.Key)
		visit(p, e.Position)
		e.Value.walk(p, visit)
	}
	for i, item := range v.Items {
		p := path + "[" + strconv.Itoa(i) + "]"
		visit(p, item.Position)
		item.walk(p, visit)
	}
}

// Join appends a key to a dotted path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
