package confidential

import (
	"slices"
	"strings"
	"unicode"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

var (
	// action is what a template does, literal a text in it.
	action  = lazyregexp.New(`(?s)\{\{.*?\}\}`)
	literal = lazyregexp.New("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")
	// pair is a name with its value, wherever it stands in a line.
	pair = lazyregexp.New(`([A-Za-z_][\w.-]*)["']?\s*[:=]\s*(?:![!\w]*\s+)?("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,{}\[\]]+)`)
	// alias is a name that a value which was not quoted may be taken for.
	alias = lazyregexp.New(`(?:^|[\s:,\[{-])\*([^\s,{}\[\]]+)`)
	// secretKind finds a Secret in text that is no YAML.
	secretKind = lazyregexp.New(`(?m)^\s*["']?kind["']?\s*:\s*["']?Secret\b`)
)

// AddLines takes in what may be secret in the lines of a file, without reading it as
// what it is: its aliases are not expanded.
func (v *Values) AddLines(text []byte) { v.lines(string(text)) }

// lines takes in what may be secret in text that cannot be decoded: a template, a
// properties file, broken YAML.
func (v *Values) lines(text string) {
	for _, found := range action.FindAllString(text, -1) {
		for _, l := range literal.FindAllString(found, -1) {
			v.words(l[1 : len(l)-1])
		}
	}
	text = action.ReplaceAllString(text, " ")
	secret := secretKind.MatchString(text)
	for _, line := range strings.Split(text, "\n") {
		for _, m := range pair.FindAllStringSubmatchIndex(line, -1) {
			name := line[m[2]:m[3]]
			keys := []string{name}
			if secret && !slices.Contains(manifest.PublicFields, name) && !slices.Contains(harmless, name) || Named(keys, false) {
				v.keep(bare(line[m[4]:m[5]]))
				v.keep(bare(line[m[4]:])) // the value may have spaces
			}
		}
		for _, m := range alias.FindAllStringSubmatch(line, -1) {
			v.keep(bare(m[1]))
		}
		v.words(line)
	}
}

// bare is a value without what YAML writes around it.
func bare(text string) string {
	text = strings.TrimLeft(strings.TrimSpace(text), "*&!|>")
	return strings.Trim(strings.TrimSpace(text), `"'{}[],`)
}

// words takes in the words of a text that look like nothing but a secret.
func (v *Values) words(text string) {
	for _, word := range strings.FieldsFunc(text, func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune("\"'`,;{}[]()<>|=&?*!", c)
	}) {
		v.word(strings.Trim(word, ".:"))
		for _, part := range strings.FieldsFunc(word, func(c rune) bool { return strings.ContainsRune(":/@", c) }) {
			v.word(part)
		}
	}
}

func (v *Values) word(word string) {
	if len(word) > longestWord || len(word) >= leastWord && !plain(word) {
		v.keep(word)
	}
}

// leastWord is the shortest word that is kept back for its looks, in bytes. What is
// longer than longestWord is no name.
const (
	leastWord   = 6
	longestWord = 4 << 10
)

var (
	// regular is a duration or a version of an API.
	regular = lazyregexp.New(`^(?:(?:\d+(?:d|h|m|s|ms|us|ns))+|v\d+(?:alpha|beta)\d+)$`)
	digits  = lazyregexp.New(`\d+`)
	// hump is a word in a name such as ConfigMap.
	hump = lazyregexp.New(`\p{Lu}+\P{Lu}*|\P{Lu}+`)
)

// plain reports whether a text looks like words, names, versions, addresses or
// quantities.
func plain(text string) bool {
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		groups := digits.FindAllString(part, -1)
		letters := len(part) - len(strings.Join(groups, ""))
		switch {
		case letters == 0 || regular.MatchString(part):
		case len(groups) > 1 || len(groups) == 1 && len(groups[0]) > 4:
			return false
		case letters > 5 && 2*letters <= 5*len(hump.FindAllString(part, -1)) || letters > 40:
			return false
		}
	}
	return true
}
