package byhand

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

var (
	// defined is the line that a function of a shell begins with.
	defined = lazyregexp.New(`(?m)^([ \t]*)(?:function[ \t]+)?([A-Za-z_][A-Za-z0-9_-]*)[ \t]*\(\)[ \t]*\{[ \t]*(?:#.*)?$`)
	// takes is a variable of a function that is one of its arguments.
	takes = lazyregexp.New(`(?:^|[\s;])([A-Za-z_][A-Za-z0-9_]*)=["']?\$\{?([1-9])(?:[:?-][^}\s]*)?\}?["']?`)
)

const (
	// maxFunction bounds the lines of a function that is read, maxCalls the calls of a file.
	maxFunction = 60
	maxCalls    = 200
	// maxBody bounds the bytes of a function that is read, also with its arguments filled in: each
	// argument may stand in it many times.
	maxBody = 8 << 10
)

// functionsOf are the bodies of the functions of a script that read an argument, by name.
func functionsOf(content []byte) map[string]string {
	all := map[string]string{}
	text := string(content)
	for _, m := range defined.FindAllStringSubmatchIndex(text, -1) {
		indent, name, rest := text[m[2]:m[3]], text[m[4]:m[5]], text[m[1]:]
		end := strings.Index(rest, "\n"+indent+"}")
		if end < 0 || end > maxBody || strings.Count(rest[:end], "\n") > maxFunction {
			continue
		}
		if body := rest[:end]; strings.Contains(body, "$1") || strings.Contains(body, "${1") || strings.Contains(body, "$2") || strings.Contains(body, "${2") {
			all[name] = body
		}
	}
	return all
}

// ofCalls are the commands of functions, once for each call among the commands of their file, with its
// arguments filled in, at its line.
func ofCalls(functions map[string]string, commands []command, known *variables) []command {
	var all []command
	if len(functions) == 0 {
		return nil
	}
	calls := 0
	for _, c := range commands {
		for _, part := range parts(c.text) {
			given := words(strings.TrimSpace(part))
			if len(given) > 0 && (given[0] == "then" || given[0] == "do" || given[0] == "if") {
				given = given[1:]
			}
			if len(given) < 2 || functions[given[0]] == "" {
				continue
			}
			if calls++; calls > maxCalls {
				return all
			}
			body := withArguments(functions[given[0]], given[1:])
			if known.left < len(body) {
				return all
			}
			known.left -= len(body)
			for _, one := range linesOf(body, true, known) {
				one.line = c.line
				all = append(all, one)
			}
		}
	}
	return all
}

// withArguments fills the arguments of a call into the body of a function, and into the variables that
// it keeps them in. It is empty where it becomes too large.
func withArguments(body string, given []string) string {
	value := func(number string) string {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(given) || len(given[n-1]) > maxValue || strings.ContainsAny(given[n-1], "$`\"'") {
			return ""
		}
		return given[n-1]
	}
	for _, m := range takes.FindAllStringSubmatch(body, -1) {
		if len(body) > maxBody {
			return ""
		}
		if v := value(m[2]); v != "" {
			body = regexp.MustCompile(`\$\{`+m[1]+`\}|\$`+m[1]+`\b`).ReplaceAllLiteralString(body, v)
		}
	}
	body = argumentRead.ReplaceAllStringFunc(body, func(written string) string {
		if v := value(argumentRead.FindStringSubmatch(written)[1]); v != "" {
			return v
		}
		return written
	})
	if len(body) > maxBody {
		return ""
	}
	return body
}

// ofArgument is a line of a function that keeps its arguments in variables of its own: outside of the
// function these are others.
var ofArgument = lazyregexp.New(`(?m)^\s*local\s[^\n]*\$\{?[1-9@*][^\n]*$`)

// argumentRead is an argument in the body of a function.
var argumentRead = lazyregexp.New(`\$\{?([1-9])(?:\}|\b)`)
