package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPictureLinesAreEquallyWide(t *testing.T) {
	p := Picture{
		Title: "Rollout order",
		Frames: []Frame{
			{Heading: "PHASE 110: CRDs", Text: "The CRDs are served by the API server, so that what uses them can be dry-run and applied.", Boxes: []Box{
				{Title: "foundation-crds-cert-manager", Lines: []string{"Certificates and issuers"}},
				{Title: "b"}, {Title: "a-very-long-component-name-that-does-not-fit-into-one-line-of-a-box", Lines: []string{strings.Repeat("word ", 30)}},
				{Title: "d"},
			}},
			{Heading: "PHASE 120"},
		},
		Notes: []string{"Steps run in order", strings.Repeat("x", 200)},
	}
	var b strings.Builder
	if err := WritePicture(&b, p); err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if !strings.HasPrefix(l, "│") && !strings.HasPrefix(l, "┌") {
			continue
		}
		if n := utf8.RuneCountInString(l); n != pictureWidth {
			t.Errorf("line is %d columns wide, want %d: %s", n, pictureWidth, l)
		}
	}
	for _, want := range []string{"foundation-crds-cert-manager", "• Certificates and issuers", "⇒ The CRDs are served", "(none)", "▼"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the picture lacks %q:\n%s", want, b.String())
		}
	}
}
