package byhand

import (
	"cmp"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// variables are those that a file sets to one text, by name.
type variables struct {
	values map[string]string
	// lists are those that a loop sets to one word after the other.
	lists map[string][]string
	// left is how much longer they may still make the commands of the file.
	left int
}

var (
	// assigned is a line that sets a variable: of a shell, of make, or of just.
	assigned = lazyregexp.New("(?m)^\\s*(?:export\\s+|readonly\\s+|local\\s+|declare\\s+-r\\s+)*([A-Za-z_][A-Za-z0-9_]*)(?:=|\\s*(?::=|\\?=|=)\\s*)(?:\"([^\"$`{}]*)\"|'([^'$`{}]*)'|([^\\s\"'$`{}()<>|;&#]+))\\s*(?:#.*)?$")
	// ofTasks is a file of Task, and ofTask one of its variables, which may begin with another one.
	ofTasks = lazyregexp.New(`(?m)^tasks:`)
	ofTask  = lazyregexp.New(`(?m)^\s+([A-Z][A-Z0-9_]*):\s*["']?((?:\{\{\s*\.[A-Za-z0-9_]+\s*\}\})?[\w./-]+)["']?\s*(?:#.*)?$`)
	// sets is any command that sets a variable.
	sets = lazyregexp.New(`(?m)(?:^|[\s;&|(])(?:([A-Za-z_][A-Za-z0-9_]*)\+?=|for\s+([A-Za-z_][A-Za-z0-9_]*)\s+in\b|read\s+(?:-\S+\s+)*([A-Za-z_][A-Za-z0-9_]*))`)
	// loops is a loop over the files that a pattern matches: one text stands for all of them.
	loops = lazyregexp.New(`(?m)(?:^|[\s;&|(])for\s+([A-Za-z_][A-Za-z0-9_]*)\s+in\s+([^\s;${}()]*\*[^\s;${}()]*)\s*(?:;|$)`)
	// listed is a loop over words.
	listed = lazyregexp.New(`(?m)(?:^|[\s;&|(])for\s+([A-Za-z_][A-Za-z0-9_]*)\s+in\s+([^;${}()*\n]+?)\s*(?:;|$)`)
	// read is where one stands: $NAME, ${NAME}, ${NAME:-other}, $(NAME), {{NAME}}, {{.NAME}}.
	read = lazyregexp.New(`\$([A-Za-z_][A-Za-z0-9_]*)|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^{}$]*))?\}|\$\(([A-Za-z_][A-Za-z0-9_]*)\)|\{\{\s*\.?([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)
	// program is the name of a variable that holds a client with its options.
	program = lazyregexp.New(`(?i)^_*(kubectl|oc|helm)(?:_?(?:cmd|bin|command))?$`)
)

const (
	// maxValue bounds a value, which one line may name many times.
	maxValue = 256
	// maxWords bounds the words of a loop.
	maxWords = 50
	// maxFilled bounds what the values of a file add to its commands.
	maxFilled = 64 << 10
)

// variablesOf are those of a file, each set on one line. One that is set to several texts, or to what is not
// written there, is none of them.
func variablesOf(content []byte) *variables {
	text := ofArgument.ReplaceAllString(string(content), "")
	known, times := map[string]string{}, map[string]int{}
	set := func(name, value string) {
		if have, ok := known[name]; ok && have != value || len(value) > maxValue {
			times[name] = -len(text) // whatever sets it, it is not known
		}
		known[name] = value
		times[name]++
	}
	tasks := ofTasks.MatchString(text)
	var setting []string // lines that may set one
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := ofTask.FindStringSubmatch(line); tasks && m != nil {
			set(m[1], strings.ReplaceAll(m[2], " ", ""))
		}
		if !holdsAny(line, "=", "for", "read") {
			continue
		}
		setting = append(setting, line)
		if m := assigned.FindStringSubmatch(line); m != nil {
			set(m[1], m[2]+m[3]+m[4])
		}
	}
	for _, line := range setting {
		for _, m := range sets.FindAllStringSubmatch(line, -1) {
			times[m[1]+m[2]+m[3]]--
		}
	}
	lists := map[string][]string{}
	for _, line := range setting {
		for _, m := range loops.FindAllStringSubmatch(line, -1) {
			if _, ok := known[m[1]]; !ok && times[m[1]] == -1 {
				known[m[1]], times[m[1]] = unquoted.Replace(m[2]), 0
			}
		}
	}
	for _, line := range setting {
		for _, m := range listed.FindAllStringSubmatch(line, -1) {
			if words := strings.Fields(unquoted.Replace(m[2])); times[m[1]] == -1 && lists[m[1]] == nil && len(words) <= maxWords {
				lists[m[1]] = words
			}
		}
	}
	for name, n := range times {
		if n < 0 {
			delete(known, name)
		}
	}
	return &variables{values: known, lists: lists, left: maxFilled}
}

// each is a command once for each word of the first loop whose variable it reads.
func (known *variables) each(command string) []string {
	if len(known.lists) == 0 || !strings.Contains(command, "$") {
		return []string{command}
	}
	m := read.FindAllStringSubmatch(command, -1)
	for _, one := range m {
		name := one[1] + one[2]
		words := known.lists[name]
		if known.left -= len(words) * len(command); len(words) == 0 || known.left < 0 {
			continue
		}
		var all []string
		for _, word := range words {
			all = append(all, strings.NewReplacer("${"+name+"}", word, "$"+name, word).Replace(command))
		}
		return all
	}
	return []string{command}
}

// fill writes the values of variables into a command. What a file does not set stays, but
// for one that the command itself has another text for.
func (known *variables) fill(command string) string {
	if !strings.ContainsAny(command, "${") {
		return command
	}
	return read.ReplaceAllStringFunc(command, func(written string) string {
		m := read.FindStringSubmatch(written)
		name := m[1] + m[2] + m[4] + m[5]
		value := cmp.Or(known.values[name], m[3])
		if p := program.FindStringSubmatch(name); value == "" && p != nil {
			value = strings.ToLower(p[1])
		}
		if known.left -= max(0, len(value)-len(written)); value == "" || known.left < 0 {
			return written
		}
		return value
	})
}
