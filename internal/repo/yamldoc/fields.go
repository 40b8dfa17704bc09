package yamldoc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Problem is a field that has the wrong type or a value that is not allowed.
type Problem struct {
	// Field is the dotted path.
	Field    string
	Position finding.Position
	Message  string
	Hint     string
}

// Problems collects what is wrong with a document while it is read.
type Problems struct {
	List []Problem
}

// Add records a problem.
func (p *Problems) Add(field string, at finding.Position, hint, format string, args ...any) {
	p.List = append(p.List, Problem{Field: field, Position: at, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// Fields reads the fields of one map. A field of the wrong type is recorded as
// a problem and read as absent; so is nothing at all ("key:"), without a
// problem. A nil *Fields has no fields.
type Fields struct {
	Value    *Value
	Path     string
	problems *Problems
	keys     keys
	// asked are the keys that readers asked for, some of them several times.
	asked []string
	// nested keeps the readers of nested maps, so that asking for one twice
	// forgets nothing and reports nothing twice.
	nested map[string]*Fields
}

// Read starts reading a map. It returns nil, and records a problem, when the
// value is something else.
func Read(v *Value, path string, problems *Problems) *Fields {
	if v.Kind != Map {
		problems.Add(path, v.Position, "", "%s is %s, not a map", name(path), v.Kind)
		return nil
	}
	return &Fields{Value: v, Path: path, problems: problems, keys: keys{of: v}}
}

func name(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}

// Entry returns a field of any type. Like every reader it marks the field as
// known.
func (f *Fields) Entry(key string) (Entry, bool) {
	if f == nil {
		return Entry{}, false
	}
	f.asked = append(f.asked, key)
	i, ok := f.keys.find(key)
	if !ok || f.Value.Entries[i].Value.Kind == Null {
		return Entry{}, false
	}
	return f.Value.Entries[i], true
}

// Has reports whether a field is there, and marks it as known.
func (f *Fields) Has(key string) bool {
	_, ok := f.Entry(key)
	return ok
}

// Wrong records a problem with a field.
func (f *Fields) Wrong(key, hint, format string, args ...any) {
	at := f.Value.Position
	if e, ok := f.Value.Get(key); ok {
		at = e.Position
	}
	f.problems.Add(Join(f.Path, key), at, hint, format, args...)
}

func (f *Fields) wrongKind(key string, got Kind, want string) {
	f.Wrong(key, "", "%s is %s, not %s", Join(f.Path, key), got, want)
}

// Text returns a scalar as written: 010 stays "010".
func (f *Fields) Text(key string) string {
	e, ok := f.Entry(key)
	if !ok {
		return ""
	}
	if e.Value.Kind != Scalar {
		f.wrongKind(key, e.Value.Kind, "text")
		return ""
	}
	return e.Value.Text
}

// Bool returns a boolean, or fallback.
func (f *Fields) Bool(key string, fallback bool) bool {
	e, ok := f.Entry(key)
	if !ok {
		return fallback
	}
	if b, ok := e.Value.Bool(); ok {
		return b
	}
	// Quoted booleans are common in templates that print descriptors.
	switch e.Value.Text {
	case "true":
		return true
	case "false":
		return false
	}
	f.wrongScalar(key, e.Value, "true or false")
	return fallback
}

func (f *Fields) wrongScalar(key string, v *Value, want string) {
	if v.Kind != Scalar {
		f.wrongKind(key, v.Kind, want)
		return
	}
	f.Wrong(key, "", "%s is %q, not %s", Join(f.Path, key), v.Text, want)
}

// Int returns a whole number; ok is false where none is written.
func (f *Fields) Int(key string) (n int, ok bool) {
	e, ok := f.Entry(key)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(e.Value.Text))
	if e.Value.Kind != Scalar || err != nil {
		f.wrongScalar(key, e.Value, "a whole number")
		return 0, false
	}
	return n, true
}

// Float returns a number; ok is false where none is written.
func (f *Fields) Float(key string) (x float64, ok bool) {
	e, ok := f.Entry(key)
	if !ok {
		return 0, false
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(e.Value.Text), 64)
	if e.Value.Kind != Scalar || err != nil || x != x || x < -1e308 || x > 1e308 {
		f.wrongScalar(key, e.Value, "a number")
		return 0, false
	}
	return x, true
}

// Duration returns a duration that is not negative. A bare number counts
// seconds, as in Argo CD's backoff.
func (f *Fields) Duration(key string) time.Duration {
	e, ok := f.Entry(key)
	if !ok {
		return 0
	}
	d, ok := ParseDuration(e.Value.Text)
	if e.Value.Kind != Scalar || !ok {
		f.wrongScalar(key, e.Value, "a duration such as 90s or 10m")
		return 0
	}
	return d
}

// ParseDuration reads "90s", "1h30m", or a bare number of seconds. Negative
// durations are refused.
func ParseDuration(text string) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if _, err := strconv.ParseUint(text, 10, 31); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

// Item is one element of a list of texts.
type Item struct {
	// Index is the place in the list as written; wrong items are left out.
	Index    int
	Text     string
	Position finding.Position
}

// list returns the elements of a list, nil where there is none.
func (f *Fields) list(key string) []*Value {
	e, ok := f.Entry(key)
	if !ok {
		return nil
	}
	if e.Value.Kind != List {
		f.wrongKind(key, e.Value.Kind, "a list")
		return nil
	}
	return e.Value.Items
}

// Texts returns a list of scalars.
func (f *Fields) Texts(key string) []Item {
	values := f.list(key)
	if values == nil {
		return nil
	}
	items := make([]Item, 0, len(values))
	for i, v := range values {
		path := Join(f.Path, key) + "[" + strconv.Itoa(i) + "]"
		switch {
		case v.Kind != Scalar:
			f.problems.Add(path, v.Position, "", "%s is %s, not text", path, v.Kind)
		case strings.TrimSpace(v.Text) == "":
			f.problems.Add(path, v.Position, "", "%s is empty", path)
		default:
			items = append(items, Item{Index: i, Text: v.Text, Position: v.Position})
		}
	}
	return items
}

// Strings is Texts without the positions.
func (f *Fields) Strings(key string) []string {
	var texts []string
	for _, item := range f.Texts(key) {
		texts = append(texts, item.Text)
	}
	return texts
}

// TextMap returns a map of scalars.
func (f *Fields) TextMap(key string) map[string]string {
	m := f.Map(key)
	if m == nil || len(m.Value.Entries) == 0 {
		return nil
	}
	texts := make(map[string]string, len(m.Value.Entries))
	for _, e := range m.Value.Entries {
		if e.Value.Kind != Scalar {
			m.wrongKind(e.Key, e.Value.Kind, "text")
			continue
		}
		texts[e.Key] = e.Value.Text
	}
	return texts
}

// Map returns the reader of a nested map, nil where there is none.
func (f *Fields) Map(key string) *Fields {
	e, ok := f.Entry(key)
	if !ok {
		return nil
	}
	m, ok := f.nested[key]
	if !ok {
		m = Read(e.Value, Join(f.Path, key), f.problems)
		if f.nested == nil {
			f.nested = map[string]*Fields{}
		}
		f.nested[key] = m
	}
	return m
}

// Maps returns the readers of a list of maps.
func (f *Fields) Maps(key string) []*Fields {
	var list []*Fields
	for i, v := range f.list(key) {
		if m := Read(v, Join(f.Path, key)+"["+strconv.Itoa(i)+"]", f.problems); m != nil {
			list = append(list, m)
		}
	}
	return list
}

// Unknown returns the entries that no reader asked for.
func (f *Fields) Unknown() []Entry {
	if f == nil {
		return nil
	}
	known := func(key string) bool { return slices.Contains(f.asked, key) }
	if len(f.Value.Entries) >= long {
		asked := make(map[string]bool, len(f.asked))
		for _, key := range f.asked {
			asked[key] = true
		}
		known = func(key string) bool { return asked[key] }
	}
	var unknown []Entry
	for _, e := range f.Value.Entries {
		if !known(e.Key) {
			unknown = append(unknown, e)
		}
	}
	return unknown
}

// Known returns the keys that readers asked for, sorted.
func (f *Fields) Known() []string {
	if f == nil {
		return nil
	}
	keys := slices.Clone(f.asked)
	slices.Sort(keys)
	return slices.Compact(keys)
}
