package analysis

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

var (
	// assignment is a variable that a script sets, to what is written.
	assignment = lazyregexp.New(`(?:^|[\s;&|(])([A-Za-z_][A-Za-z0-9_]*)=("[^"]*"|'[^']*'|[^\s;&|)]*)`)
	// listed is a variable that goes through a list.
	listed = lazyregexp.New(`(?:^|[\s;&|(])for\s+([A-Za-z_][A-Za-z0-9_]*)\s+in\s+([^;\n]*)`)
	// filledIn is where a shell fills a variable in.
	filledIn = lazyregexp.New(`\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)
	// readIn is a variable that is read from elsewhere.
	readIn = lazyregexp.New(`(?:^|[\s;&|(])read\s+([^;|&\n]*)`)
	// expanded is where Kubernetes fills a variable of the container in.
	expanded = lazyregexp.New(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)
)

// mostValues bounds the texts that one command stands for.
const mostValues = 20

// variables are what the variables of a script may be, by name; those that are set more
// than once, or to what is not written, are nil.
type variables map[string][]string

// variablesOf reads a script that is run with an environment.
func variablesOf(script string, environment map[string]string) variables {
	v := variables{}
	set := func(name string, values []string) {
		if _, again := v[name]; again || slices.ContainsFunc(values, func(s string) bool { return s == "" || strings.ContainsAny(s, "$`*?{\\") }) {
			values = nil
		}
		v[name] = values
	}
	for _, m := range assignment.FindAllStringSubmatch(script, mostCommands) {
		set(m[1], []string{strings.Trim(m[2], `"'`)})
	}
	for _, m := range listed.FindAllStringSubmatch(script, mostCommands) {
		set(m[1], strings.Fields(unquotedWords.Replace(m[2])))
	}
	for _, m := range readIn.FindAllStringSubmatch(script, mostCommands) {
		for _, name := range strings.Fields(m[1]) {
			v[name] = nil
		}
	}
	for name, value := range environment {
		if _, own := v[name]; !own {
			set(name, []string{value})
		}
	}
	return v
}

var unquotedWords = strings.NewReplacer(`"`, "", `'`, "")

// fill is a command with its variables filled in, once for each value that one goes
// through. Those that are not known stay.
func (v variables) fill(command string) []string {
	texts := []string{command}
	done := map[string]bool{}
	for _, m := range filledIn.FindAllStringSubmatch(command, mostCommands) {
		name := m[1] + m[2]
		if done[name] || len(v[name]) == 0 || len(texts)*len(v[name]) > mostValues {
			continue
		}
		done[name] = true
		var more []string
		for _, text := range texts {
			for _, value := range v[name] {
				more = append(more, filledIn.ReplaceAllStringFunc(text, func(found string) string {
					if strings.Trim(found, "${}") == name {
						return value
					}
					return found
				}))
			}
		}
		texts = more
	}
	return texts
}

// environmentOf are the variables of a container that are written out.
func environmentOf(container map[string]any) map[string]string {
	out := map[string]string{}
	items, _ := container["env"].([]any)
	for _, item := range items {
		variable, _ := item.(map[string]any)
		name, _ := variable["name"].(string)
		value, written := variable["value"].(string)
		if name != "" && written && !strings.Contains(value, "$(") {
			out[name] = value
		}
	}
	return out
}

// expand fills in what Kubernetes does.
func expand(command string, environment map[string]string) string {
	return expanded.ReplaceAllStringFunc(command, func(found string) string {
		if value, ok := environment[strings.Trim(found, "$()")]; ok {
			return value
		}
		return found
	})
}
