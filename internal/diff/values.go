package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
)

// maxShown is how many characters of a value are shown.
const maxShown = 100

// diff compares two documents value by value, in the order of their paths.
func diff(from, to map[string]any) []Field {
	d := &difference{}
	d.maps(place{}, from, to)
	return d.fields
}

// diffSecrets compares two Secrets: which values differ is told, the values are
// not.
func diffSecrets(from, to map[string]any) []Field {
	d := &difference{secret: true}
	d.maps(place{}, from, to)
	return d.fields
}

type difference struct {
	fields []Field
	// secret hides data and stringData whatever they hold.
	secret bool
}

// place is where in a document a value is: as it is printed, and its keys, by
// which it may be secret.
type place struct {
	text string
	keys []string
}

func (p place) key(key string) place {
	text := key
	if strings.ContainsAny(key, ".[]/\" ") || key == "" {
		text = `["` + key + `"]`
	} else if p.text != "" {
		text = "." + key
	}
	return place{p.text + text, append(p.keys[:len(p.keys):len(p.keys)], key)}
}

// item is an item of a list; name is its value of the key that tells the items
// apart, which may say what its values are: the name of a variable.
func (p place) item(text, name string) place {
	return place{p.text + "[" + text + "]", append(p.keys[:len(p.keys):len(p.keys)], name)}
}

func (d *difference) maps(at place, from, to map[string]any) {
	each(d, from, to, at.key, d.values)
}

// each compares two maps key by key.
func each[V any](d *difference, from, to map[string]V, at func(string) place, compare func(at place, x, y V)) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(from)), maps.Keys(to))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		x, before := from[key]
		y, after := to[key]
		here := at(key)
		switch {
		case !before:
			d.add(Field{Path: here.text, Op: Added, To: d.shown(here, y)})
		case !after:
			d.add(Field{Path: here.text, Op: Removed, From: d.shown(here, x)})
		default:
			compare(here, x, y)
		}
	}
}

func (d *difference) add(f Field) { d.fields = append(d.fields, f) }

func (d *difference) values(at place, x, y any) {
	if equal(x, y) {
		return
	}
	switch a := x.(type) {
	case map[string]any:
		if b, ok := y.(map[string]any); ok {
			d.maps(at, a, b)
			return
		}
	case []any:
		if b, ok := y.([]any); ok {
			d.lists(at, a, b)
			return
		}
	case string:
		if b, ok := y.(string); ok && (strings.Contains(a, "\n") || strings.Contains(b, "\n")) {
			d.add(Field{Path: at.text, Op: Changed, From: lines(a, b), To: lines(b, a)})
			return
		}
	}
	d.add(Field{Path: at.text, Op: Changed, From: d.shown(at, x), To: d.shown(at, y)})
}

// equal compares values; numbers of different types may be the same.
func equal(x, y any) bool {
	if reflect.DeepEqual(x, y) {
		return true
	}
	switch x.(type) {
	case int, int64, float64, json.Number:
		switch y.(type) {
		case int, int64, float64, json.Number:
			return compact(x) == compact(y)
		}
	}
	return false
}

// tellers are the keys that tell the items of a list apart, where every item has
// one of its own. Source: the list map keys of the Kubernetes API.
var tellers = [...]string{"name", "mountPath", "containerPort", "port", "key", "type", "host", "ip", "path", "secretKey"}

// lists compares lists: items by the key that tells them apart, else as sets
// where their number or order changed, else one by one.
func (d *difference) lists(at place, a, b []any) {
	for _, key := range tellers {
		if key != "name" && confidential.Named(at.key("value").keys, d.secret) {
			continue // what tells the items apart may be what is secret
		}
		x, ok := keyed(a, key)
		y, also := keyed(b, key)
		if ok && also && len(a)+len(b) > 0 {
			d.keyedLists(at, key, x, y)
			return
		}
	}
	if len(a) == len(b) && !sameItems(a, b) {
		for i := range a {
			d.values(at.item(strconv.Itoa(i), previous(a, b, i)), a[i], b[i])
		}
		return
	}
	left, right := only(a, b), only(b, a)
	if len(left)+len(right) == 0 {
		d.add(Field{Path: at.text, Op: Changed, From: "another order", To: "another order"})
		return
	}
	for _, i := range left {
		d.add(Field{Path: at.text + "[]", Op: Removed, From: d.shown(at.item("", previous(a, nil, i)), a[i])})
	}
	for _, i := range right {
		d.add(Field{Path: at.text + "[]", Op: Added, To: d.shown(at.item("", previous(b, nil, i)), b[i])})
	}
}

// previous is the item before one, if it is a text: a flag says what the argument
// behind it is. Of two lists it is what either says.
func previous(a, b []any, i int) string {
	if i == 0 {
		return ""
	}
	x, _ := a[i-1].(string)
	if b == nil {
		return flag(x)
	}
	y, _ := b[i-1].(string)
	return flag(x) + " " + flag(y)
}

func flag(text string) string {
	if strings.HasPrefix(text, "-") && !strings.Contains(text, "=") {
		return text
	}
	return ""
}

// keyed maps the items of a list by a key; ok is false where an item has none, or
// that of another one.
func keyed(in []any, key string) (map[string]map[string]any, bool) {
	out := map[string]map[string]any{}
	for _, item := range in {
		m, _ := item.(map[string]any)
		value, there := m[key]
		if _, nested := value.(map[string]any); !there || nested {
			return nil, false
		}
		text := compactText(value)
		if _, double := out[text]; double {
			return nil, false
		}
		out[text] = m
	}
	return out, true
}

func (d *difference) keyedLists(at place, key string, a, b map[string]map[string]any) {
	changed := len(d.fields)
	each(d, a, b, func(name string) place { return at.item(key+"="+d.shown(place{}, name), name) }, d.maps)
	if len(d.fields) == changed {
		d.add(Field{Path: at.text, Op: Changed, From: "another order", To: "another order"})
	}
}

func sameItems(a, b []any) bool { return len(only(a, b))+len(only(b, a)) == 0 }

// only are the indexes of the items of a list that another lacks, each item of
// the other counting once.
func only(in, other []any) []int {
	left := map[string]int{}
	for _, v := range other {
		left[compact(v)]++
	}
	var out []int
	for i, v := range in {
		text := compact(v)
		if left[text] == 0 {
			out = append(out, i)
			continue
		}
		left[text]--
	}
	return out
}

// lines describes a text of several lines by how much of it the other lacks: the
// lines themselves may hold anything.
func lines(text, other string) string {
	have := map[string]int{}
	for _, l := range strings.Split(other, "\n") {
		have[l]++
	}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	alone := 0
	for _, l := range all {
		if have[l] == 0 {
			alone++
		} else {
			have[l]--
		}
	}
	return fmt.Sprintf("%s, %d of them here only", finding.Count(len(all), "line"), alone)
}

// shown prints a value on one line, shortened, without what may be secret.
func (d *difference) shown(at place, v any) string {
	return shorten(report.Plain(compactText(d.masked(at, v))))
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxShown {
		return text
	}
	return string([]rune(text)[:maxShown-1]) + "…"
}

// compactText prints a value; a text without quotes.
func compactText(v any) string {
	if text, ok := v.(string); ok {
		if text == "" {
			return `""`
		}
		return text
	}
	return compact(v)
}

// compact prints a value as JSON on one line.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v) // no document holds such a value
	}
	return strings.TrimSuffix(b.String(), "\n")
}
