package lint

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// glob matches a pattern as AppProjects do: * and ? stop at a separator, ** does
// not, [ab] and [!ab] are one character, {a,b} one of several. What is no valid
// pattern matches nothing. Source: github.com/gobwas/glob, which Argo CD uses.
func glob(pattern, text string, separators ...rune) bool {
	if !strings.ContainsAny(pattern, `*?[{\`) {
		return pattern == text
	}
	if len(pattern) > maxPattern {
		return false
	}
	re, err := regexp.Compile(expression(pattern, string(separators)))
	return err == nil && re.MatchString(text)
}

// maxPattern bounds patterns, in bytes: names and addresses are shorter, and to compile
// a long one takes a thousand times its memory.
const maxPattern = 4 << 10

// expression translates a glob to an anchored regular expression.
func expression(pattern, separators string) string {
	one := `.`
	if separators != "" {
		one = `[^` + regexp.QuoteMeta(separators) + `]`
	}
	var b strings.Builder
	b.WriteString(`(?s)^`)
	open := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(`.*`)
			i++
		case c == '*':
			b.WriteString(one + `*`)
		case c == '?':
			b.WriteString(one)
		case c == '[':
			end := strings.IndexByte(pattern[i:], ']')
			if end < 0 {
				return `(?s)^` + regexp.QuoteMeta(pattern) + `$`
			}
			class := pattern[i+1 : i+end]
			if rest, not := strings.CutPrefix(class, "!"); not {
				class = "^" + rest
			}
			b.WriteString("[" + strings.ReplaceAll(class, `\`, `\\`) + "]")
			i += end
		case c == '{':
			open++
			b.WriteString(`(?:`)
		case c == '}' && open > 0:
			open--
			b.WriteString(`)`)
		case c == ',' && open > 0:
			b.WriteString(`|`)
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			_, size := utf8.DecodeRuneInString(pattern[i:])
			b.WriteString(regexp.QuoteMeta(pattern[i : i+size]))
			i += size - 1
		}
	}
	b.WriteString(`$`)
	return b.String()
}
