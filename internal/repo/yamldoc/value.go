package yamldoc

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/core/finding"
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

	tag string
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

// Elements are the items of a list; none where there is no list.
func (v *Value) Elements() []*Value {
	if v == nil {
		return nil
	}
	return v.Items
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
	err := v.decode(&b)
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

// decode reads a scalar as YAML does.
func (v *Value) decode(to any) error {
	node := yaml.Node{Kind: yaml.ScalarNode, Tag: v.tag, Value: v.Text}
	return node.Decode(to)
}

func (v *Value) scalar() any {
	switch v.tag {
	case "!!bool":
		if b, ok := v.Bool(); ok {
			return b
		}
	case "!!int":
		var n int64
		if v.decode(&n) == nil {
			return n
		}
		if f, err := strconv.ParseFloat(v.Text, 64); err == nil {
			return f
		}
	case "!!float":
		var f float64
		if v.decode(&f) == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
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

// Size is the number of entries and items below v: how often Walk calls visit.
func (v *Value) Size() int {
	n := len(v.Entries) + len(v.Items)
	for _, e := range v.Entries {
		n += e.Value.Size()
	}
	for _, item := range v.Items {
		n += item.Size()
	}
	return n
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

// Text is a scalar of text at a place.
func Text(text string, at finding.Position) *Value {
	return &Value{Kind: Scalar, Text: text, Position: at, tag: "!!str"}
}

// With returns the map with one entry replaced, added at its end or, where the
// value is nil, left out. The map itself stays as it is.
func (v *Value) With(key string, value *Value) *Value {
	out := &Value{Kind: Map, Position: v.Position, Entries: make([]Entry, 0, len(v.Entries)+1)}
	found := false
	for _, e := range v.Entries {
		if e.Key == key {
			found = true
			if value == nil {
				continue
			}
			e.Value = value
		}
		out.Entries = append(out.Entries, e)
	}
	if !found && value != nil {
		out.Entries = append(out.Entries, Entry{Key: key, Value: value, Position: value.Position})
	}
	return out
}

// Located returns the value with every position replaced: that of a text inside
// another file.
func (v *Value) Located(at finding.Position) *Value {
	out := &Value{Kind: v.Kind, Text: v.Text, Position: at, tag: v.tag}
	for _, item := range v.Items {
		out.Items = append(out.Items, item.Located(at))
	}
	for _, e := range v.Entries {
		out.Entries = append(out.Entries, Entry{Key: e.Key, Value: e.Value.Located(at), Position: at})
	}
	return out
}

// Like returns the value with the positions that another one has of the same parts;
// what the other lacks stands where what holds it does.
func (v *Value) Like(other *Value) *Value {
	out := &Value{Kind: v.Kind, Text: v.Text, Position: other.Position, tag: v.tag}
	for i, item := range v.Items {
		of := &Value{Position: other.Position}
		if i < len(other.Items) {
			of = other.Items[i]
		}
		out.Items = append(out.Items, item.Like(of))
	}
	for _, e := range v.Entries {
		of := Entry{Value: &Value{Position: other.Position}, Position: other.Position}
		if written, ok := other.Get(e.Key); ok {
			of = written
		}
		out.Entries = append(out.Entries, Entry{Key: e.Key, Value: e.Value.Like(of.Value), Position: of.Position})
	}
	return out
}

// FromAny turns values of the types of encoding/json into a Value, every part of
// which is at one place. The keys of maps are sorted.
func FromAny(value any, at finding.Position) *Value {
	switch value := value.(type) {
	case nil:
		return &Value{Kind: Null, Position: at, tag: "!!null"}
	case string:
		return Text(value, at)
	case map[string]any:
		out := &Value{Kind: Map, Position: at}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			out.Entries = append(out.Entries, Entry{Key: key, Value: FromAny(value[key], at), Position: at})
		}
		return out
	case []any:
		out := &Value{Kind: List, Position: at}
		for _, item := range value {
			out.Items = append(out.Items, FromAny(item, at))
		}
		return out
	default:
		node := &yaml.Node{}
		if err := node.Encode(value); err != nil || node.Kind != yaml.ScalarNode {
			return Text(fmt.Sprint(value), at)
		}
		return &Value{Kind: Scalar, Text: node.Value, Position: at, tag: node.ShortTag()}
	}
}
