package appset

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
)

// unsteady are the functions of Sprig that give something else each time, read
// the environment or the network, or take long by design.
func unsteady() []string {
	return []string{
		"now", "ago", "date", "dateInZone", "date_in_zone", "htmlDate", "htmlDateInZone",
		"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle", "uuidv4",
		"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
		"htpasswd", "bcrypt", "derivePassword", "encryptAES", "buildCustomCert",
	}
}

// functions are those of Argo CD's Go templates. Source: Argo CD, applicationset
// "Go Template": Sprig without env, expandenv and getHostByName, and five more.
func functions() template.FuncMap {
	all := template.FuncMap(sprig.GenericFuncMap())
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(all, name)
	}
	maps.Copy(all, template.FuncMap{
		"normalize":     normalize,
		"slugify":       slugify,
		"toYaml":        toYAML,
		"fromYaml":      fromYAML,
		"fromYamlArray": fromYAMLArray,
		"print":         fmt.Sprint,
		"printf":        fmt.Sprintf,
		"println":       fmt.Sprintln,
		"html":          template.HTMLEscaper,
		"js":            template.JSEscaper,
		"urlquery":      template.URLQueryEscaper,
		// Sprig goes through a map.
		"keys":   keys,
		"values": values,
	})
	for _, name := range unsteady() {
		if _, ok := all[name]; ok {
			all[name] = func(...any) (string, error) {
				return "", fmt.Errorf("%s gives something else each time", name)
			}
		}
	}
	checks := checks()
	for name, f := range all {
		all[name] = bounded(f, checks[name])
	}
	return all
}

// check refuses a call that would make too much.
type check func(args []reflect.Value) bool

// bounded wraps a function so that neither a call nor its result is too large.
// The templates' own engine turns a panic of a function into an error.
func bounded(f any, allowed check) any {
	v := reflect.ValueOf(f)
	return reflect.MakeFunc(v.Type(), func(args []reflect.Value) []reflect.Value {
		if allowed != nil && !allowed(spread(args, v.Type().IsVariadic())) {
			panic(errTooMuch)
		}
		var out []reflect.Value
		if v.Type().IsVariadic() {
			out = v.CallSlice(args)
		} else {
			out = v.Call(args)
		}
		left := maxText
		if items := maxValues; len(out) > 0 && !small(out[0], &left, &items, 0) {
			panic(errTooMuch)
		}
		return out
	}).Interface()
}

// spread lists the arguments of a call one by one.
func spread(args []reflect.Value, variadic bool) []reflect.Value {
	if !variadic {
		return args
	}
	last := args[len(args)-1]
	all := slices.Clone(args[:len(args)-1])
	for i := range last.Len() {
		all = append(all, last.Index(i))
	}
	return all
}

// small reports whether a value keeps within the limits.
func small(v reflect.Value, text, items *int, depth int) bool {
	if *items--; *items < 0 || depth > 200 {
		return false
	}
	switch v.Kind() {
	case reflect.String:
		*text -= v.Len()
		return *text >= 0
	case reflect.Interface, reflect.Pointer:
		return v.IsNil() || small(v.Elem(), text, items, depth+1)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !small(v.Index(i), text, items, depth+1) {
				return false
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if !small(it.Key(), text, items, depth+1) || !small(it.Value(), text, items, depth+1) {
				return false
			}
		}
	}
	return true
}

// number reads an argument that counts something, as Sprig converts it; what is
// no number counts nothing.
func number(v reflect.Value) int {
	n, err := strconv.ParseFloat(fmt.Sprint(v.Interface()), 64)
	if err != nil {
		return 0
	}
	return int(min(max(n, -1e15), 1e15))
}

func length(v reflect.Value) int {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return 0
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Array, reflect.Map:
		return v.Len()
	default:
		return 0
	}
}

// wide matches a width or precision in a format that makes much of little.
var wide = regexp.MustCompile(`%[-+# 0]*([0-9]{4,}|\*|[0-9]*\.([0-9]{4,}|\*))`)

// checks are those of the functions that can make much of little.
func checks() map[string]check {
	times := func(args []reflect.Value) bool {
		return len(args) < 2 || number(args[0])*max(1, length(args[1])) <= maxText
	}
	indent := func(args []reflect.Value) bool {
		return len(args) < 2 || number(args[0])*(1+strings.Count(fmt.Sprint(args[1].Interface()), "\n")) <= maxText
	}
	upTo := func(args []reflect.Value) bool {
		return !slices.ContainsFunc(args, func(v reflect.Value) bool { n := number(v); return n > maxValues || n < -maxValues })
	}
	product := func(args []reflect.Value) bool {
		total := 1
		for _, a := range args {
			if total *= max(1, length(a)); total > maxText*16 {
				return false
			}
		}
		return true
	}
	format := func(args []reflect.Value) bool {
		return len(args) == 0 || !wide.MatchString(fmt.Sprint(args[0].Interface()))
	}
	return map[string]check{
		"repeat": times, "indent": indent, "nindent": indent,
		"until": upTo, "untilStep": upTo, "seq": upTo,
		"replace": product, "regexReplaceAll": product, "mustRegexReplaceAll": product,
		"regexReplaceAllLiteral": product, "mustRegexReplaceAllLiteral": product,
		"join": product, "wrapWith": product, "printf": format,
	}
}

var notInName = regexp.MustCompile(`[^-a-z0-9.]`)

// normalize makes a DNS name of a text. Source: Argo CD, "normalize".
func normalize(text string) string {
	text = notInName.ReplaceAllString(strings.ToLower(text), "-")
	if len(text) > 253 {
		text = text[:253]
	}
	return strings.Trim(text, "-.")
}

var notInSlug = regexp.MustCompile(`[^a-z0-9_-]+`)

var dashes = regexp.MustCompile(`-+`)

// slugify makes a slug: [maxSize [, smartTruncate]] text. Source: Argo CD,
// "slugify".
func slugify(args ...any) (string, error) {
	size, smart, text := 50, true, ""
	for i, arg := range args {
		ok := true
		switch i {
		case len(args) - 1:
			text, ok = arg.(string)
		case 0:
			size, ok = arg.(int)
		case 1:
			smart, ok = arg.(bool)
		}
		if !ok {
			return "", fmt.Errorf("slugify: argument %d is a %T", i+1, arg)
		}
	}
	slug := dashes.ReplaceAllString(notInSlug.ReplaceAllString(normalize(text), "-"), "-")
	slug = strings.Trim(slug, "-_")
	if size <= 0 || len(slug) <= size {
		return slug, nil
	}
	if !smart {
		return strings.Trim(slug[:size], "-_"), nil
	}
	// Words that fit stay whole.
	kept := ""
	for word := range strings.SplitSeq(slug, "-") {
		next := word
		if kept != "" {
			next = kept + "-" + word
		}
		if len(next) > size {
			break
		}
		kept = next
	}
	if kept == "" {
		kept = slug[:size]
	}
	return strings.Trim(kept, "-_"), nil
}

func toYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

func fromYAML(text string) (map[string]any, error) {
	v, err := readYAML(text)
	if err != nil || v == nil {
		return map[string]any{}, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the YAML is no map")
	}
	return m, nil
}

func fromYAMLArray(text string) ([]any, error) {
	v, err := readYAML(text)
	if err != nil || v == nil {
		return []any{}, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("the YAML is no list")
	}
	return list, nil
}

func readYAML(text string) (any, error) {
	documents, err := yamlpos.Parse("", []byte(text))
	if err != nil {
		return nil, errors.New("the YAML does not parse")
	}
	if len(documents) == 0 {
		return nil, nil
	}
	return plain(documents[0]), nil
}

func keys(dicts ...map[string]any) []string {
	out := []string{}
	for _, d := range dicts {
		out = append(out, slices.Sorted(maps.Keys(d))...)
	}
	return out
}

func values(dict map[string]any) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(dict)) {
		out = append(out, dict[k])
	}
	return out
}
