package byhand

import "testing"

func TestComments(t *testing.T) {
	for _, tc := range []struct{ content, want string }{
		{"# a\nb: 1 # c\n  ## d\n", "a\nc\nd\n"},
		{"a: b#c\n- d # e # f\n", "\ne # f\n"},
		{"a:\n  - b: |-\n      # c\n\n      d # e\n  # f\n", "\n\n\n\n\nf\n"},
		{"- > # a\n  # b\n- c # d |\n  # e", "a\n\nd |\ne"},
		{"a: |\r\n  # b\r\n# c\r\n", "\n\nc\n"},
		{"# a: |\n  # b\n", "a: |\nb\n"},
	} {
		if got := string(comments([]byte(tc.content))); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.content, got, tc.want)
		}
	}
}
