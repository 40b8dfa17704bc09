package stream

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func getenv(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestSafe(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\r\n  more: ✓ ü\n":       "plain\ttext\r\n  more: ✓ ü\n",
		"a\x1b[31mb\x1b]0;t\x07":             `a\u001b[31mb\u001b]0;t\u0007`,
		"a\rb\x00\x7f\u0085\u009b\u2028":     `a\u000db\u0000\u007f\u0085\u009b\u2028`,
		"\u202eabc\u2066\u200f":              `\u202eabc\u2066\u200f`,
		"\x9b31m\xff":                        "\ufffd31m\ufffd",
		"::warning::x\n \t::error::x":        ":\\u003awarning::x\n \t:\\u003aerror::x",
		"\u00a0\u3000::error::x":             "\u00a0\u3000:\\u003aerror::x",
		"a ::warning::x\n: :x\nA::b\n:a::b":  "a ::warning::x\n: :x\nA::b\n:a::b",
		":::error::":                         `:\u003a:error::`,
		"##[error]x\nsay ##vso[task.x]y":     "##\\u005berror]x\nsay ##vso\\u005btask.x]y",
		"##teamcity[x] ###[y] ####name[z]":   `##teamcity\u005bx] ###\u005by] ####name\u005bz]`,
		"## [a](b)\n#[x]\n# #[y] ##a b[c]":   "## [a](b)\n#[x]\n# #[y] ##a b[c]",
		"\x1b::error::x":                     `\u001b::error::x`,
		"\u200f::error::x\n\u2028::error::x": "\\u200f::error::x\n\\u2028::error::x",
	} {
		if got := string(Safe([]byte(text))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// Ladder's own colours pass where output is coloured, and no other sequence.
func TestGuardColours(t *testing.T) {
	text := "\x1b[31m✕\x1b[0m \x1b[8mhidden\x1b[2J \x1b[1;31mx \x1b[31"
	for env, want := range map[string]string{
		"CLICOLOR_FORCE": "\x1b[31m✕\x1b[0m \\u001b[8mhidden\\u001b[2J \\u001b[1;31mx \\u001b[31",
		"NO_COLOR":       `\u001b[31m✕\u001b[0m \u001b[8mhidden\u001b[2J \u001b[1;31mx \u001b[31`,
	} {
		var out bytes.Buffer
		s := (&Streams{Out: &out, Err: &out, Getenv: getenv(env, "1")}).Guarded()
		for i := range len(text) { // however it is cut
			if n, err := s.Out.Write([]byte{text[i]}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		s.Flush()
		if out.String() != want {
			t.Errorf("%s: %q, want %q", env, out.String(), want)
		}
		if s.Guarded() != s {
			t.Error("guarded twice")
		}
	}
}

// Own commands stay, others do not, and what stands in a command is guarded too.
func TestCommands(t *testing.T) {
	text := "::error file=a::b\x1b ##[x]%0A\n::add-mask::b\n::group::::c\n::endgroup::\n  ::error ::x"
	want := "::error file=a::b\\u001b ##\\u005bx]%0A\n:\\u003aadd-mask::b\n::group::::c\n::endgroup::\n  :\\u003aerror ::x"
	if got := string(Commands([]byte(text))); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var out bytes.Buffer
	s := (&Streams{Out: &out, Err: &out, Getenv: getenv()}).Guarded()
	if err := s.WriteCommands("", []byte(text)); err != nil || out.String() != want {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// commanding finds what a CI system takes for a command.
var commanding = regexp.MustCompile(`(?m)^[\s\p{Z}]*::|##\pL*\[`)

func FuzzGuard(f *testing.F) {
	for _, text := range []string{"::x", " \v::", "##vso[", "\x1b[31m", "\xe2\x80", "a\r", "\r\n::", "#\x00#["} {
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		whole := string(Safe([]byte(text)))
		if i := strings.IndexFunc(whole, func(r rune) bool {
			return unicode.IsControl(r) && !strings.ContainsRune("\n\t\r", r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
		}); i >= 0 || !utf8.ValidString(whole) {
			t.Errorf("%q steers", whole)
		}
		if strings.Contains(strings.ReplaceAll(whole, "\r\n", "\n"), "\r") || commanding.MatchString(whole) {
			t.Errorf("%q commands", whole)
		}
		if again := string(Safe([]byte(whole))); again != whole {
			t.Errorf("%q becomes %q", whole, again)
		}
		// However a text is cut, the same is written.
		var out bytes.Buffer
		g := &guard{out: &out}
		if cut = max(cut, -cut); len(text) > 0 {
			cut %= len(text)
			_, _ = g.Write([]byte(text[:cut]))
			_, _ = g.Write([]byte(text[cut:]))
		}
		g.Flush()
		if len(text) > 0 && out.String() != whole {
			t.Errorf("cut at %d: %q, want %q", cut, out.String(), whole)
		}
		// JSON means the same afterwards.
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		valid := strings.ToValidUTF8(text, "")
		if encoder.Encode(valid) != nil {
			return
		}
		var back string
		if err := json.Unmarshal(Safe(b.Bytes()), &back); err != nil || back != valid {
			t.Errorf("JSON of %q becomes %q, %v", valid, back, err)
		}
	})
}
