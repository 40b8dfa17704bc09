package stream_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// TestFolded: only what people read on a terminal is folded.
func TestFolded(t *testing.T) {
	text := strings.Repeat("word ", 40)
	for name, test := range map[string]struct {
		terminal bool
		file     string
		folded   bool
	}{
		"a terminal":   {true, "", true},
		"a dash":       {true, "-", true},
		"into a file":  {true, "plan.txt", false},
		"into a pipe":  {false, "", false},
		"out of a job": {false, "plan.txt", false},
	} {
		s := &stream.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, OutTerminal: test.terminal}
		if got := s.Folded(test.file, text); (got != text) != test.folded {
			t.Errorf("%s: %q", name, got)
		}
	}
}
