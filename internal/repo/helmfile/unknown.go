package helmfile

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// unknowns are the reasons why values are not known. A value that is not known is
// a mark in a text: private characters around the number of its reason, which
// survive what templates do to texts.
type unknowns struct{ reasons []string }

const (
	markOpen  = "\uE0F0"
	markClose = "\uE0F1"
)

var markPattern = lazyregexp.New(markOpen + `([0-9]+)` + markClose)

// mark returns a mark for a reason.
func (u *unknowns) mark(format string, args ...any) string {
	reason := fmt.Sprintf(format, args...)
	for i, known := range u.reasons {
		if known == reason {
			return markOpen + strconv.Itoa(i) + markClose
		}
	}
	u.reasons = append(u.reasons, reason)
	return markOpen + strconv.Itoa(len(u.reasons)-1) + markClose
}

// reason says why a text is not known; "" where it is.
func (u *unknowns) reason(text string) string {
	m := markPattern.FindStringSubmatch(text)
	if m == nil {
		if isMarked(text) {
			return "part of it is not known"
		}
		return ""
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n >= len(u.reasons) {
		return "it is not known"
	}
	return u.reasons[n]
}

// isMarked reports whether a text is not known, or a part of it.
func isMarked(text string) bool { return strings.Contains(text, markOpen) }

// scrub replaces marks in a message.
func scrub(text string) string {
	return strings.NewReplacer(markOpen, "", markClose, "").Replace(markPattern.ReplaceAllString(text, "(unknown)"))
}

// firstMark is the mark in a value that is a text, or a list that holds one.
func firstMark(v reflect.Value) (string, bool) {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) {
		if v.IsNil() {
			return "", false
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		return "", false
	}
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); isMarked(s) {
			return s, true
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			item := v.Index(i)
			for item.IsValid() && item.Kind() == reflect.Interface && !item.IsNil() {
				item = item.Elem()
			}
			if item.Kind() == reflect.String && isMarked(item.String()) {
				return item.String(), true
			}
		}
	default:
	}
	return "", false
}

// unknownError says that something had to be known.
type unknownError struct{ reason string }

// Error implements error.
func (e *unknownError) Error() string { return e.reason }

// known passes on a value that is known and fails for one that is not.
func (u *unknowns) known(v any) (any, error) {
	if mark, ok := firstMark(reflect.ValueOf(v)); ok {
		return nil, &unknownError{u.reason(mark)}
	}
	return v, nil
}
