package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever font a reader has, a column stands where it stands on a terminal.
func TestSpans(t *testing.T) {
	got := spans("\x1b[32m✓ 010   crds\x1b[0m   <1s\x1b[2m  slow\x1b[0m")
	want := strings.Join([]string{
		`<tspan x="16.0" textLength="42.0" lengthAdjust="spacingAndGlyphs" fill="#7ee787">✓ 010</tspan>`,
		`<tspan x="83.2" textLength="33.6" lengthAdjust="spacingAndGlyphs" fill="#7ee787">crds</tspan>`,
		`<tspan x="142.0" textLength="25.2" lengthAdjust="spacingAndGlyphs">&lt;1s</tspan>`,
		`<tspan x="184.0" textLength="33.6" lengthAdjust="spacingAndGlyphs" fill="#8b949e">slow</tspan>`,
	}, "")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
