package analysis

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// longestScript bounds what is read of the command of a container, in bytes. Of so many
// brackets the parser makes a stack of 64 MiB.
const longestScript = 16 << 10

// commandOf is what a container is told to run, where its image does not say it.
func commandOf(container map[string]any) []string {
	given, _ := container["command"].([]any)
	if len(given) == 0 {
		return nil
	}
	more, _ := container["args"].([]any)
	var words []string
	for _, item := range slices.Concat(given, more) {
		word, ok := item.(string)
		if !ok {
			return nil
		}
		words = append(words, word)
	}
	return words
}

// scriptOf is the text that a command gives a shell, with the options of that shell.
func scriptOf(words []string) (text, options string, ok bool) {
	i := slices.IndexFunc(words, func(w string) bool {
		return slices.Contains([]string{"sh", "bash", "ash", "dash"}, path.Base(w))
	})
	if i < 0 {
		return "", "", false
	}
	given := false
	for i++; i < len(words); i++ {
		switch w := words[i]; {
		case given && w == "--":
		case strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--"):
			options += w[1:]
			given = given || strings.Contains(w, "c")
			if strings.Contains(w, "o") {
				i++ // the name of an option
			}
		default:
			return w, options, given
		}
	}
	return "", "", false
}

// parseScript reads the text of a shell; it is nil where that is too long or has an
// error.
func parseScript(text string) *syntax.File {
	if len(text) > longestScript {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return file
}

// parts reads what a container is told to run: the script of its shell, or the words
// themselves.
func parts(words []string) *syntax.File {
	if text, _, ok := scriptOf(words); ok {
		return parseScript(text)
	}
	var quoted []string
	for _, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			return nil
		}
		quoted = append(quoted, q)
	}
	return parseScript(strings.Join(quoted, " "))
}

// variables are what the variables of a script may be, by name; those that are set more
// than once, or to what is not written, are nil.
type variables map[string][]string

// settingCommands set the variables that their arguments name.
var settingCommands = []string{"read", "mapfile", "readarray", "getopts", "printf", "unset"}

// variablesOf reads a script that is run with an environment.
func variablesOf(script *syntax.File, environment map[string]string) variables {
	v, own := variables{}, map[string]bool{}
	for name, value := range environment {
		v[name] = known(value)
	}
	set := func(name string, values []string) {
		if own[name] {
			values = nil
		}
		v[name], own[name] = known(values...), true
	}
	unknown := func(n syntax.Node) bool {
		if literal, ok := n.(*syntax.Lit); ok {
			set(literal.Value, nil)
		}
		return true
	}
	syntax.Walk(script, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil && !n.Naked {
				text, ok := v.text(n.Value)
				if !ok || n.Append || n.Index != nil {
					text = ""
				}
				set(n.Name.Value, []string{text})
			}
		case *syntax.WordIter:
			var values []string
			for _, item := range n.Items {
				text, ok := v.text(item)
				if !ok {
					values = nil
					break
				}
				values = append(values, strings.Fields(text)...)
			}
			set(n.Name.Value, values)
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
			syntax.Walk(n, unknown)
		case *syntax.CallExpr:
			if len(n.Args) > 0 && slices.Contains(settingCommands, n.Args[0].Lit()) {
				syntax.Walk(n, unknown)
			}
		}
		return true
	})
	return v
}

// known are values that a name can have, nil where one of them is none.
func known(values ...string) []string {
	if slices.ContainsFunc(values, func(s string) bool { return s == "" || strings.ContainsAny(s, "*?[") }) {
		return nil
	}
	return values
}

// text is what a shell makes of a word; ok is false where that depends on more than
// variables of one known value.
func (v variables) text(w *syntax.Word) (text string, ok bool) {
	if w == nil {
		return "", false
	}
	return v.join(w.Parts, false)
}

func (v variables) join(parts []syntax.WordPart, quoted bool) (text string, ok bool) {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, quoted))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			inner, ok := v.join(p.Parts, true)
			if !ok || p.Dollar {
				return "", false
			}
			b.WriteString(inner)
		case *syntax.ParamExp:
			changed := p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil
			if changed || p.Param == nil || len(v[p.Param.Value]) != 1 {
				return "", false
			}
			b.WriteString(v[p.Param.Value][0])
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescape takes the backslashes away that a shell takes away.
func unescape(text string, quoted bool) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// expanded is where Kubernetes fills a variable of the container in.
var expanded = lazyregexp.New(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)

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
func expand(word string, environment map[string]string) string {
	return expanded.ReplaceAllStringFunc(word, func(found string) string {
		if value, ok := environment[strings.Trim(found, "$()")]; ok {
			return value
		}
		return found
	})
}
