package byhand

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// variables are those that a file sets to one text, by name.
type variables map[string]string

var (
	// assigned is a line that sets a variable: of a shell, of make, or of just.
	assigned = lazyregexp.New("(?m)^\\s*(?:export\\s+|readonly\\s+|local\\s+|declare\\s+-r\\s+)*([A-Za-z_][A-Za-z0-9_]*)(?:=|\\s*(?::=|\\?=|=)\\s*)(?:\"([^\"$`{}]*)\"|'([^'$`{}]*)'|([^\\s\"'$`{}()<>|;&#]+))\\s*(?:#.*)?$")
	// read is where one stands: $NAME, ${NAME}, ${NAME:-other}, $(NAME), {{NAME}}, {{.NAME}}.
	read = lazyregexp.New(`\$([A-Za-z_][A-Za-z0-9_]*)|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^{}$]*))?\}|\$\(([A-Za-z_][A-Za-z0-9_]*)\)|\{\{\s*\.?([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)
)

// maxValue bounds a value, which one line may name many times.
const maxValue = 256

// variablesOf are those of a file. One that is set to several texts has none of them.
func variablesOf(content []byte) variables {
	known := variables{}
	several := map[string]bool{}
	for _, m := range assigned.FindAllStringSubmatch(string(content), -1) {
		name, value := m[1], m[2]+m[3]+m[4]
		if len(value) > maxValue {
			continue
		}
		if have, ok := known[name]; ok && have != value {
			several[name] = true
		}
		known[name] = value
	}
	for name := range several {
		delete(known, name)
	}
	return known
}

// fill writes the values of variables into a command. What a file does not set stays, but
// for one that the command itself has another text for.
func (known variables) fill(command string) string {
	if !strings.ContainsAny(command, "${") {
		return command
	}
	return read.ReplaceAllStringFunc(command, func(written string) string {
		m := read.FindStringSubmatch(written)
		name := m[1] + m[2] + m[4] + m[5]
		if value, ok := known[name]; ok && value != "" {
			return value
		}
		if m[3] != "" {
			return m[3]
		}
		return written
	})
}
