package finding_test

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// TestBelow: a message names a place as the position above it does.
func TestBelow(t *testing.T) {
	f := finding.Finding{
		Message:  "duplicate name a, ignored (first at b.yaml:1), not x/b.yaml:1, b.yaml:12 or c/b.yaml:1",
		Position: finding.Position{File: "c/b.yaml", Line: 1},
		Evidence: []finding.Evidence{{File: "b.yaml", Line: 1}, {File: "c/b.yaml", Line: 1}, {File: "d"}, {}},
	}
	for way, want := range map[string]string{
		".": f.Message,
		"c": "duplicate name a, ignored (first at c/b.yaml:1), not x/b.yaml:1, b.yaml:12 or c/c/b.yaml:1",
	} {
		if got := f.Below(way).Message; got != want {
			t.Errorf("below %s: got %q, want %q", way, got, want)
		}
	}
}
