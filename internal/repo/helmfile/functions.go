package helmfile

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/repo/gotemplate"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// unsteady are the functions that give something else each time, or take long by
// design, of Sprig and with the clock.
func unsteady() []string {
	return append(gotemplate.Unsteady(), "dateModify", "date_modify", "mustDateModify", "must_date_modify", "duration", "durationRound", "decryptAES")
}

// passing are the functions that keep marks in what they make: their result is as
// little known as their arguments, and says so.
func passing() []string {
	return []string{
		"quote", "squote", "indent", "nindent", "trim", "upper", "lower", "toString", "print", "printf", "println", "cat", "join", "list",
		"tuple", "dict", "set", "merge", "mergeOverwrite", "toYaml", "toJson", "toPrettyJson", "toRawJson", "nospace", "append", "prepend",
		"concat", "fromYaml", "fromJson", "tpl", "include", "required", "deepCopy", "mustMerge", "mustMergeOverwrite", "mustToJson",
		"values", "keys", "get", "getOrNil", "setValueAtPath", "index", "pick", "omit", "first", "last", "rest", "initial", "pluck", knownName,
	}
}

// functions are Helmfile's and Sprig's, those that ask elsewhere replaced. Source:
// Helmfile, "Template Functions".
func (e *engine) functions(base string) template.FuncMap {
	all := gotemplate.Functions()
	for _, name := range unsteady() {
		if _, ok := all[name]; ok {
			all[name] = func(...any) string { return e.unknown.mark("%s gives something else each time", name) }
		}
	}
	maps.Copy(all, template.FuncMap{
		"env":         e.variable,
		"requiredEnv": e.variable,
		"expandenv":   func(any) string { return e.unknown.mark("expandenv reads the variables of the environment") },
		"getHostByName": func(any) string {
			return e.unknown.mark("getHostByName asks the network")
		},
		"exec": func(command any, _ ...any) string { return e.unknown.mark("it runs the command %s", first(command)) },
		"envExec": func(_ any, command any, _ ...any) string {
			return e.unknown.mark("it runs the command %s", first(command))
		},
		"fetchSecretValue": func(any) string { return e.unknown.mark("it fetches a secret from a store") },
		"expandSecretRefs": func(any) string { return e.unknown.mark("it fetches secrets from a store") },
		"readFile":         func(file string) (string, error) { return e.readFile(base, file) },
		"isFile":           func(file string) (bool, error) { return e.isFile(base, file) },
		"isDir":            func(file string) (bool, error) { return e.isDir(base, file) },
		"readDir":          func(dir string) ([]string, error) { return e.readDir(base, dir) },
		"readDirEntries":   func(any) (string, error) { return "", errors.New("readDirEntries is not evaluated") },
		"toYaml":           toYAML,
		"fromYaml":         fromYAML,
		"get":              getPath,
		"getOrNil":         func(p string, obj any) (any, error) { return getPath(p, nil, obj) },
		"setValueAtPath":   setPath,
		"required":         required,
		"tpl":              func(text string, data any) (string, error) { return e.nested(base, text, data) },
		"index":            index,
		"not":              func(v any) bool { truth, _ := template.IsTrue(v); return !truth },
		"len":              lengthOf,
	})
	for _, name := range []string{"eq", "ne", "lt", "le", "gt", "ge"} {
		all[name] = func(args ...any) (any, error) { return compare(name, args) }
	}
	all[knownName] = e.unknown.known
	keep := passing()
	for name, f := range all {
		if !slices.Contains(keep, name) {
			all[name] = e.guarded(f)
		}
	}
	return all
}

func first(v any) string {
	text, _, _ := strings.Cut(strings.TrimSpace(fmt.Sprint(v)), " ")
	return strconv.Quote(path.Base(text))
}

// variable is a variable of the environment: one that was given, else unknown.
func (e *engine) variable(name string) string {
	if value, ok := e.variables[name]; ok {
		return value
	}
	return e.unknown.mark("it reads the variable %s of the environment", name)
}

// guarded wraps a function: what it makes of something that is not known is not
// known. The templates' own engine turns a panic into an error.
func (e *engine) guarded(f any) any {
	v := reflect.ValueOf(f)
	t := v.Type()
	return reflect.MakeFunc(t, func(args []reflect.Value) []reflect.Value {
		call, each := v.Call, args
		if t.IsVariadic() {
			last := args[len(args)-1]
			call, each = v.CallSlice, slices.Clone(args[:len(args)-1])
			for i := range last.Len() {
				each = append(each, last.Index(i))
			}
		}
		for _, a := range each {
			if mark, ok := firstMark(a); ok {
				return e.stays(t, mark)
			}
		}
		return call(args)
	}).Interface()
}

// stays is the result of a function of something that is not known.
func (e *engine) stays(t reflect.Type, mark string) []reflect.Value {
	kind := t.Out(0).Kind()
	if kind != reflect.String && kind != reflect.Interface {
		panic(&unknownError{e.unknown.reason(mark)})
	}
	unknown := e.unknown.mark("%s", e.unknown.reason(mark))
	out := []reflect.Value{reflect.New(t.Out(0)).Elem()}
	if kind == reflect.String {
		out[0].SetString(unknown)
	} else {
		out[0].Set(reflect.ValueOf(unknown))
	}
	for i := 1; i < t.NumOut(); i++ {
		out = append(out, reflect.Zero(t.Out(i)))
	}
	return out
}

// compare runs one of the comparisons of the templates' own engine.
func compare(name string, args []any) (any, error) {
	var b strings.Builder
	b.WriteString("{{" + name)
	for i := range args {
		fmt.Fprintf(&b, " (index . %d)", i)
	}
	b.WriteString("}}")
	t, err := template.New("compare").Parse(b.String())
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	if err := t.Execute(&out, args); err != nil {
		return nil, fmt.Errorf("%s: the values cannot be compared", name)
	}
	return out.String() == "true", nil
}

// index is that of the templates' own engine for what YAML holds.
func index(v any, keys ...any) (any, error) {
	at := reflect.ValueOf(v)
	for _, key := range keys {
		for at.IsValid() && at.Kind() == reflect.Interface {
			at = at.Elem()
		}
		if !at.IsValid() {
			return nil, errors.New("index of untyped nil")
		}
		switch at.Kind() {
		case reflect.Map:
			k := reflect.ValueOf(key)
			if !k.IsValid() || !k.Type().AssignableTo(at.Type().Key()) {
				return nil, fmt.Errorf("the map has no key of type %T", key)
			}
			at = at.MapIndex(k)
			if !at.IsValid() {
				return nil, nil
			}
		case reflect.Slice, reflect.Array:
			n, err := strconv.Atoi(fmt.Sprint(key))
			if err != nil || n < 0 || n >= at.Len() {
				return nil, fmt.Errorf("index %v is out of range", key)
			}
			at = at.Index(n)
		case reflect.String:
			if isMarked(at.String()) {
				return at.String(), nil
			}
			return nil, errors.New("a text has no entries")
		default:
			return nil, fmt.Errorf("a %s has no entries", at.Kind())
		}
	}
	if !at.IsValid() || !at.CanInterface() {
		return nil, nil
	}
	return at.Interface(), nil
}

func lengthOf(v any) (int, error) {
	value := reflect.ValueOf(v)
	switch value.Kind() {
	case reflect.String, reflect.Slice, reflect.Array, reflect.Map:
		return value.Len(), nil
	default:
		return 0, fmt.Errorf("a %T has no length", v)
	}
}

func required(message string, v any) (any, error) {
	if text, ok := v.(string); v == nil || ok && text == "" {
		return nil, errors.New(message)
	}
	return v, nil
}

func toYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return string(data), err
}

func fromYAML(text string) (map[string]any, error) {
	documents, err := yamldoc.Parse("yaml", []byte(text))
	if err != nil {
		return nil, errors.New("fromYaml: the text is no YAML")
	}
	if len(documents) == 0 {
		return map[string]any{}, nil
	}
	m, ok := documents[0].Any().(map[string]any)
	if !ok {
		return nil, errors.New("fromYaml: the text is no map")
	}
	return m, nil
}

// getPath is Helmfile's get: path, [default,] object.
func getPath(p string, args ...any) (any, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, errors.New("get takes a path, a default and an object")
	}
	at := args[len(args)-1]
	if p == "" {
		return at, nil
	}
	for key := range strings.SplitSeq(p, ".") {
		m, ok := at.(map[string]any)
		if text, isText := at.(string); isText && isMarked(text) {
			return text, nil
		}
		var next any
		if ok {
			next, ok = m[key]
		}
		if !ok {
			if len(args) == 2 {
				return args[0], nil
			}
			return nil, fmt.Errorf("there is no value %q", p)
		}
		at = next
	}
	return at, nil
}

// setPath is Helmfile's setValueAtPath; the object is copied.
func setPath(p string, value any, obj map[string]any) (map[string]any, error) {
	key, rest, deeper := strings.Cut(p, ".")
	out := maps.Clone(obj)
	if out == nil {
		out = map[string]any{}
	}
	if !deeper {
		out[key] = value
		return out, nil
	}
	below, _ := out[key].(map[string]any)
	set, err := setPath(rest, value, below)
	out[key] = set
	return out, err
}
