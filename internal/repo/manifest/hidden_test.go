package manifest

import (
	"strings"
	"testing"
)

// Anchors may stand behind white space that only YAML knows.
func TestHiddenAliases(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 7 {
		one := "*a" + string(rune('0'+i))
		bomb.WriteString("a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.Repeat(one+",", 9) + one + "]\n")
	}
	for _, space := range []string{" ", "\u0085", "\u2028", "\u2029"} {
		text := strings.NewReplacer(": &", ":"+space+"&", "[*", "["+space+"*", ",*", ","+space+"*").Replace(bomb.String())
		if err := CheckAliases([]byte("x: 1\n" + text)); err == nil && space == " " {
			t.Errorf("%q: nothing is refused", space)
		}
		if !mayHold([]byte(text), '&') || !mayHold([]byte(text), '*') {
			t.Errorf("%q: the anchors are not seen", space)
		}
	}
}
