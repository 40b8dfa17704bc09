package finding

import (
	"strings"
	"unicode"
)

// Plain makes a text one line that does not steer a terminal: names and messages come
// from repositories and clusters.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || Invisible(r) {
			return ' '
		}
		return r
	}, text)
}

// Invisible reports whether a character breaks a line or turns the direction of
// writing. Source: Unicode Standard Annex 9, "Directional Formatting Characters".
func Invisible(r rune) bool {
	return unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}
