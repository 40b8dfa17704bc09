package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"

	"github.com/rollout-ladder/ladder/internal/manifest"
)

// functions returns the functions of Helm's templates, none of which does more
// work than its limit allows or reaches the environment, network or cluster.
// Source: Helm, "Template Function List", and Sprig.
func functions(limit int) template.FuncMap {
	all := sprig.TxtFuncMap()
	delete(all, "env")
	delete(all, "expandenv")
	maps.Copy(all, template.FuncMap{
		"toYaml":        toYAML,
		"mustToYaml":    mustToYAML,
		"toYamlPretty":  toYAMLPretty,
		"fromYaml":      fromYAML,
		"fromYamlArray": fromYAMLArray,
		"toJson":        toJSON,
		"mustToJson":    mustToJSON,
		"fromJson":      fromJSON,
		"fromJsonArray": fromJSONArray,
		"toToml":        toTOML,
		"mustToToml":    mustToTOML,
		"fromToml":      fromTOML,
		"required":      required,
		"fail":          func(message string) (string, error) { return "", &demand{message} },
		"lookup":        func(string, string, string, string) map[string]any { return map[string]any{} },
		"getHostByName": func(string) string { return "" },
		"print":         fmt.Sprint,
		"printf":        fmt.Sprintf,
		"println":       fmt.Sprintln,
		// Sprig goes through a map; a fixed order serves every chart.
		"keys":   sortedKeys,
		"values": sortedValues,
	})
	b := bounds{limit: limit, left: new(int)}
	*b.left = totalFactor * limit
	for name, check := range b.checks() {
		all[name] = bounded(all[name], check)
	}
	for name, f := range all {
		all[name] = b.result(f)
	}
	return all
}

func toYAML(v any) string {
	data, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

func mustToYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

func toYAMLPretty(v any) string {
	var data bytes.Buffer
	encoder := goyaml.NewEncoder(&data)
	encoder.SetIndent(2)
	if err := encoder.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(data.String(), "\n")
}

// The functions that read text give the error as a value, as in Helm: charts
// test for it.

func fromYAML(text string) map[string]any {
	out := map[string]any{}
	if err := unmarshalYAML(text, &out); err != nil {
		out["Error"] = err.Error()
	}
	return out
}

func fromYAMLArray(text string) []any {
	out := []any{}
	if err := unmarshalYAML(text, &out); err != nil {
		out = []any{err.Error()}
	}
	return out
}

func unmarshalYAML(text string, out any) error {
	if err := manifest.CheckAliases([]byte(text)); err != nil {
		return err
	}
	return yaml.Unmarshal([]byte(text), out)
}

func toJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}

func mustToJSON(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}

func fromJSON(text string) map[string]any {
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		out["Error"] = err.Error()
	}
	return out
}

func fromJSONArray(text string) []any {
	out := []any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		out = []any{err.Error()}
	}
	return out
}

func toTOML(v any) string {
	text, err := mustToTOML(v)
	if err != nil {
		return err.Error()
	}
	return text
}

func mustToTOML(v any) (string, error) {
	var data bytes.Buffer
	err := toml.NewEncoder(&data).Encode(v)
	return data.String(), err
}

func fromTOML(text string) map[string]any {
	out := map[string]any{}
	if err := toml.Unmarshal([]byte(text), &out); err != nil {
		out["Error"] = err.Error()
	}
	return out
}

func required(message string, value any) (any, error) {
	if text, ok := value.(string); value == nil || ok && text == "" {
		return value, &demand{message}
	}
	return value, nil
}

func sortedKeys(dicts ...map[string]any) []string {
	out := []string{}
	for _, d := range dicts {
		out = append(out, slices.Sorted(maps.Keys(d))...)
	}
	return out
}

func sortedValues(dict map[string]any) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(dict)) {
		out = append(out, dict[k])
	}
	return out
}

// bounds keep single calls small.
type bounds struct {
	limit int
	// left is what all calls of one rendering together may still make, so that
	// a template cannot fill the memory by keeping what it makes.
	left *int
}

// totalFactor times the limit of the output is what all calls may make.
const totalFactor = 16

// maxItems is how long a list may become.
const maxItems = 1 << 20

var errLarge = errors.New("the result would be too large")

// checks returns what to look at before a function is called.
func (b bounds) checks() map[string]func(args []reflect.Value) error {
	checks := map[string]func([]reflect.Value) error{
		"repeat": func(a []reflect.Value) error { return b.product(a[0].Int(), int64(a[1].Len())) },
		"indent": func(a []reflect.Value) error {
			return b.product(a[0].Int(), int64(strings.Count(a[1].String(), "\n")+1))
		},
		"nindent": func(a []reflect.Value) error {
			return b.product(a[0].Int(), int64(strings.Count(a[1].String(), "\n")+1))
		},
		"replace": func(a []reflect.Value) error {
			return b.product(int64(strings.Count(a[2].String(), a[0].String())), int64(a[1].Len()))
		},
		"until":     func(a []reflect.Value) error { return items(0, a[0].Int(), 1) },
		"untilStep": func(a []reflect.Value) error { return items(a[0].Int(), a[1].Int(), a[2].Int()) },
		"seq":       seqItems,
		"wrap":      func(a []reflect.Value) error { return b.product(1, int64(a[1].Len())) },
		"wrapWith":  func(a []reflect.Value) error { return b.product(int64(a[2].Len()), int64(a[1].Len()+1)) },
		"chunk":     func(a []reflect.Value) error { return positive(a[0].Int()) },
		"mustChunk": func(a []reflect.Value) error { return positive(a[0].Int()) },
	}
	for _, name := range []string{"regexReplaceAll", "mustRegexReplaceAll", "regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"} {
		checks[name] = func(a []reflect.Value) error {
			return b.product(int64(a[1].Len())+1, int64(a[2].Len())+1)
		}
	}
	// These go through all of their arguments, which may hold one value many
	// times over.
	for _, name := range []string{
		"toYaml", "mustToYaml", "toYamlPretty", "toJson", "mustToJson", "toPrettyJson", "mustToPrettyJson", "toRawJson",
		"mustToRawJson", "toToml", "mustToToml", "toString", "toStrings", "join", "cat", "quote", "squote", "print", "printf",
		"println", "sortAlpha", "deepCopy", "mustDeepCopy", "deepEqual", "merge", "mustMerge", "mergeOverwrite",
		"mustMergeOverwrite", "uniq", "mustUniq", "without", "mustWithout", "has", "mustHas",
	} {
		checks[name] = b.weigh
	}
	return checks
}

func (b bounds) product(n, size int64) error {
	if n > 0 && size > 0 && n > int64(b.limit)/size {
		return errLarge
	}
	return nil
}

func positive(n int64) error {
	if n <= 0 {
		return errors.New("the size must be greater than 0")
	}
	return nil
}

func items(start, end, step int64) error {
	if step == 0 {
		return nil
	}
	if n := (end - start) / step; n > maxItems || n < -maxItems {
		return errLarge
	}
	return nil
}

// seqItems checks seq, whose arguments are like those of the Unix command.
func seqItems(args []reflect.Value) error {
	start, step, end := int64(1), int64(1), int64(0)
	n := make([]int64, 0, 3)
	for _, a := range args {
		n = append(n, a.Int())
	}
	switch len(n) {
	case 1:
		end = n[0]
	case 2:
		start, end = n[0], n[1]
	case 3:
		start, step, end = n[0], n[1], n[2]
	}
	return items(start, end, step)
}

// weigh adds up the sizes of the arguments, counting what is there twice twice.
func (b bounds) weigh(args []reflect.Value) error {
	left := 2 * b.limit
	for _, a := range args {
		if a.CanInterface() {
			weight(a.Interface(), &left, 0)
		}
	}
	if left < 0 {
		return errLarge
	}
	return nil
}

func weight(v any, left *int, depth int) {
	*left -= 8
	if *left < 0 || depth > 200 {
		if depth > 200 { // a value that contains itself
			*left = -1
		}
		return
	}
	switch x := v.(type) {
	case nil, bool, int, int64, float64:
	case string:
		*left -= len(x)
	case []byte:
		*left -= len(x)
	case map[string]any:
		for k, e := range x {
			*left -= len(k)
			weight(e, left, depth+1)
		}
	case []any:
		for _, e := range x {
			weight(e, left, depth+1)
		}
	default:
		weightOther(reflect.ValueOf(v), left, depth)
	}
}

func weightOther(v reflect.Value, left *int, depth int) {
	switch v.Kind() {
	case reflect.String:
		*left -= v.Len()
	case reflect.Map:
		for _, k := range v.MapKeys() {
			*left -= 8
			if e := v.MapIndex(k); e.CanInterface() {
				weight(e.Interface(), left, depth+1)
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			*left -= v.Len()
			return
		}
		for i := range v.Len() {
			if e := v.Index(i); e.CanInterface() {
				weight(e.Interface(), left, depth+1)
			}
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Elem().CanInterface() {
			weight(v.Elem().Interface(), left, depth+1)
		}
	}
}

var errorType = reflect.TypeFor[error]()

// bounded calls check before f.
func bounded(f any, check func([]reflect.Value) error) any {
	return wrap(f, check, nil)
}

// result wraps a function that makes a text or a list, so that it cannot make
// too large a one.
func (b bounds) result(f any) any {
	t := reflect.TypeOf(f)
	if t == nil || t.Kind() != reflect.Func || t.NumOut() == 0 {
		return f
	}
	switch t.Out(0).Kind() {
	case reflect.String, reflect.Slice, reflect.Interface:
		return wrap(f, nil, b.small)
	}
	return f
}

// small checks the result of a call.
func (b bounds) small(out reflect.Value) error {
	if out.Kind() == reflect.Interface {
		out = out.Elem()
	}
	switch out.Kind() {
	case reflect.String:
		*b.left -= out.Len()
		if out.Len() > b.limit {
			return errLarge
		}
	case reflect.Slice:
		if out.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		*b.left -= 16 * out.Len()
		if out.Len() > maxItems {
			return errLarge
		}
	}
	if *b.left < 0 {
		return errLarge
	}
	return nil
}

// wrap returns f with a check of its arguments, of its first result, or both.
func wrap(f any, before func([]reflect.Value) error, after func(reflect.Value) error) any {
	fn := reflect.ValueOf(f)
	t := fn.Type()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	outs := []reflect.Type{t.Out(0), errorType}
	fails := func(err error) []reflect.Value {
		return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&err).Elem()}
	}
	return reflect.MakeFunc(reflect.FuncOf(in, outs, t.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		if before != nil {
			flat := args
			if t.IsVariadic() {
				last := args[len(args)-1]
				flat = slices.Clone(args[:len(args)-1])
				for i := range last.Len() {
					flat = append(flat, last.Index(i))
				}
			}
			if err := before(flat); err != nil {
				return fails(err)
			}
		}
		var results []reflect.Value
		if t.IsVariadic() {
			results = fn.CallSlice(args)
		} else {
			results = fn.Call(args)
		}
		if len(results) == 2 && !results[1].IsNil() {
			return results
		}
		if after != nil {
			if err := after(results[0]); err != nil {
				return fails(err)
			}
		}
		return []reflect.Value{results[0], reflect.Zero(errorType)}
	}).Interface()
}
