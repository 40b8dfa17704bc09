package flux

import (
	"regexp"
	"strings"
)

// variable matches the variables that Flux fills in: ${name}, ${name:=default},
// ${name:-default} and the escaped $${name}. Source: Flux, "Post build variable
// substitution", which uses drone/envsubst.
var variable = regexp.MustCompile(`\$?\$\{([_A-Za-z][_A-Za-z0-9]*)([^{}]*)\}`)

// substitution fills variables into values.
type substitution struct {
	variables map[string]string
	// complete is set where there are no variables but these: one without a value
	// has its default, or is empty.
	complete bool
	// used is set once there was a variable, unknown names those without a value.
	used    bool
	unknown []string
	// room is how many bytes values may still add; below 0 nothing is filled in.
	room *int
}

// value fills in the texts below a value; the value itself is not changed.
func (s *substitution) value(v any) any {
	switch v := v.(type) {
	case string:
		return s.text(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, below := range v {
			out[k] = s.value(below)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, below := range v {
			out[i] = s.value(below)
		}
		return out
	default:
		return v
	}
}

func (s *substitution) text(text string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return variable.ReplaceAllStringFunc(text, func(match string) string {
		s.used = true
		if *s.room < 0 {
			return match
		}
		if strings.HasPrefix(match, "$$") {
			return match[1:]
		}
		m := variable.FindStringSubmatch(match)
		value, known := s.variables[m[1]]
		fallback, plain := defaultOf(m[2])
		switch {
		case plain && known && value != "":
			if *s.room -= len(value); *s.room < 0 {
				return match
			}
			return value
		case plain && (known || s.complete):
			return fallback
		default:
			// A default counts only where the variable has no value anywhere.
			s.unknown = append(s.unknown, m[1])
			return match
		}
	})
}

// defaultOf reads what follows the name of a variable: nothing, or a default. ok is
// false for the functions of envsubst, which are not evaluated.
func defaultOf(rest string) (text string, ok bool) {
	if rest == "" {
		return "", true
	}
	for _, sign := range []string{":=", ":-", "=", "-"} {
		if text, ok = strings.CutPrefix(rest, sign); ok {
			return text, true
		}
	}
	return "", false
}

// holdsVariable reports whether a text still has a variable.
func holdsVariable(text string) bool {
	for _, match := range variable.FindAllString(text, -1) {
		if !strings.HasPrefix(match, "$$") {
			return true
		}
	}
	return false
}
