package report_test

import (
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"fits\n":                                    "fits\n",
		"exactly twenty wide.\nend":                 "exactly twenty wide.\nend",
		"  one two three four five six":             "  one two three four\n    five six",
		"1  650  a, bb, ccc, dddd, eeee":            "1  650  a, bb, ccc,\n        dddd, eeee",
		"  a/very/long/path/to/a.yaml:1: error: no": "  a/very/long/path/to/a.yaml:1:\n    error: no",
		"      a/b.yaml:12  Deployment shop/web":    "      a/b.yaml:12\n        Deployment\n        shop/web",
		"  component  Healthy  it has all":          "  component  Healthy\n    it has all",
		"  component  Healthy  ":                    "  component  Healthy  ",
		"a/very/long/path/to/some/file.yaml":        "a/very/long/path/to/some/file.yaml",
		"\x1b[31mred and red and\x1b[0m plain":      "\x1b[31mred and red and\x1b[0m\n  plain",
		"\x1b[31mred red red red red red\x1b[0m":    "\x1b[31mred red red red red\n  red\x1b[0m",
		"→ → → → → → → → → →":                       "→ → → → → → → → → →",
		"":     "",
		"\n\n": "\n\n",
	} {
		got := report.Fold(text, 20)
		if got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
		if plain := func(s string) string { return strings.Join(strings.Fields(s), " ") }; plain(got) != plain(text) {
			t.Errorf("%q lost words: %q", text, got)
		}
	}
}

// TestReflow: paragraphs are broken anew where they are too wide, lists and what is narrow stay.
func TestReflow(t *testing.T) {
	for text, want := range map[string]string{
		"one two three four five\nsix seven\n\nshort\nlines": "one two three four\nfive six seven\n\nshort\nlines",
		"a list of words:\n  ladder lint .  what is wrong":   "a list of words:\n  ladder lint .\n    what is wrong",
	} {
		if got := report.Reflow(text, 20); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}
