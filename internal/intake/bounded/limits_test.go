package bounded

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

func TestMeasure(t *testing.T) {
	limits := Limits{Text: 10, Items: 5}
	itself := map[string]any{}
	itself["x"] = itself
	for name, tc := range map[string]struct {
		value       any
		text, items int
		ok          bool
	}{
		"a text":               {"abc", 3, 1, true},
		"a list":               {[]any{"ab", 1}, 2, 5, true}, // an interface around a value counts as one
		"too long a text":      {strings.Repeat("a", 11), 11, 1, false},
		"too many values":      {[]int{1, 2, 3, 4, 5}, 0, 6, false},
		"a map with itself":    {itself, 2, 6, false},
		"a pointer to nothing": {(*string)(nil), 0, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			text, items, ok := limits.Measure(reflect.ValueOf(tc.value))
			if text != tc.text || items != tc.items || ok != tc.ok {
				t.Errorf("text %d, items %d, ok %v", text, items, ok)
			}
		})
	}
}

// A call is refused before it makes anything, and one that makes little is not.
func TestChecks(t *testing.T) {
	limits := Limits{Text: 1000, Items: 100}
	checks := limits.Checks()
	all := template.FuncMap(sprig.GenericFuncMap())
	all["printf"] = fmt.Sprintf
	refused := false
	for name, check := range checks {
		f := reflect.ValueOf(all[name])
		all[name] = reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			if !check(Arguments(args, f.Type().IsVariadic())) {
				refused = true
				panic(limits.Err())
			}
			return Call(f, args)
		}).Interface()
	}
	for text, large := range map[string]bool{
		`{{ repeat 10 "abc" }}`:                                       false,
		`{{ repeat 100000 "abc" }}`:                                   true,
		`{{ indent 400 "a" }}`:                                        false,
		`{{ nindent 400 "a\nb\nc" }}`:                                 true,
		`{{ until 100 }}`:                                             false,
		`{{ until 1000000000 }}`:                                      true,
		`{{ untilStep 0 1000000000 1 }}`:                              true,
		`{{ replace "a" "b" "banana" }}`:                              false,
		`{{ replace "" (repeat 200 "b") (repeat 200 "a") }}`:          true,
		`{{ printf "%5d" 1 }}`:                                        false,
		`{{ printf "%1000000d" 1 }}`:                                  true,
		`{{ printf "%*d" 1000000 1 }}`:                                true,
		`{{ join (repeat 200 ",") (list 1 2) }}`:                      false,
		`{{ regexReplaceAll "a" (repeat 300 "a") (repeat 300 "b") }}`: true,
	} {
		refused = false
		err := template.Must(template.New("").Funcs(all).Parse(text)).Execute(&Writer{Limits: limits}, nil)
		if refused != large || (err != nil) != large {
			t.Errorf("%s: refused %v, error %v", text, refused, err)
		}
	}
}
