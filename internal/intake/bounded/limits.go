package bounded

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Limits are those of one text that is evaluated.
type Limits struct {
	// Text is the greatest length of a result, in bytes.
	Text int
	// Items is how many values a list or map may hold, those below it included.
	Items int
}

// maxDepth is how deep values are nested at the most: deeper ones contain
// themselves.
const maxDepth = 200

// Err says that something goes over the limits.
func (l Limits) Err() error {
	return fmt.Errorf("it makes more than %d KiB or %d values", l.Text>>10, l.Items)
}

// Measure is how many bytes of text and how many values there are in a value; ok
// is false where they are more than the limits.
func (l Limits) Measure(v reflect.Value) (text, items int, ok bool) {
	left := l
	ok = left.take(v, 0)
	return l.Text - left.Text, l.Items - left.Items, ok
}

func (l *Limits) take(v reflect.Value, depth int) bool {
	if l.Items--; l.Items < 0 || depth > maxDepth {
		return false
	}
	switch v.Kind() {
	case reflect.String:
		l.Text -= v.Len()
		return l.Text >= 0
	case reflect.Interface, reflect.Pointer:
		return v.IsNil() || l.take(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !l.take(v.Index(i), depth+1) {
				return false
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if !l.take(it.Key(), depth+1) || !l.take(it.Value(), depth+1) {
				return false
			}
		}
	default:
	}
	return true
}

// Check says before a call whether it may be made with its arguments.
type Check func(args []reflect.Value) bool

// wide matches a width or precision in a format that makes much of little.
var wide = regexp.MustCompile(`%[-+# 0]*([0-9]{4,}|\*|[0-9]*\.([0-9]{4,}|\*))`)

// Checks are those of the functions of Sprig, and of the templates' own engine,
// that can make much of little, by the name of the function.
func (l Limits) Checks() map[string]Check {
	times := func(args []reflect.Value) bool {
		return len(args) < 2 || Number(args[0])*max(1, length(args[1])) <= l.Text
	}
	indent := func(args []reflect.Value) bool {
		return len(args) < 2 || !args[1].CanInterface() || Number(args[0])*(1+strings.Count(fmt.Sprint(args[1].Interface()), "\n")) <= l.Text
	}
	upTo := func(args []reflect.Value) bool {
		return !slices.ContainsFunc(args, func(v reflect.Value) bool { n := Number(v); return n > l.Items || n < -l.Items })
	}
	product := func(args []reflect.Value) bool {
		total := 1
		for _, a := range args {
			if total *= max(1, length(a)); total > l.Text*16 {
				return false
			}
		}
		return true
	}
	format := func(args []reflect.Value) bool {
		return len(args) == 0 || !wide.MatchString(fmt.Sprint(args[0].Interface()))
	}
	return map[string]Check{
		"repeat": times, "indent": indent, "nindent": indent,
		"until": upTo, "untilStep": upTo, "seq": upTo,
		"replace": product, "regexReplaceAll": product, "mustRegexReplaceAll": product,
		"regexReplaceAllLiteral": product, "mustRegexReplaceAllLiteral": product,
		"join": product, "wrapWith": product, "printf": format,
	}
}

// Number reads an argument that counts something, as Sprig converts it; what is
// no number counts nothing.
func Number(v reflect.Value) int {
	if !v.IsValid() || !v.CanInterface() {
		return 0
	}
	n, err := strconv.ParseFloat(fmt.Sprint(v.Interface()), 64)
	if err != nil {
		return 0
	}
	return int(min(max(n, -1e15), 1e15))
}

func length(v reflect.Value) int {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) {
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
