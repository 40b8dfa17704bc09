package rehearsecmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/steering"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// TestTakeOver: a rehearsal that goes on is the one that was interrupted, also where its
// flags are not written again.
func TestTakeOver(t *testing.T) {
	cases := map[string]struct {
		args, kept []string
		want       []string
		refused    string
	}{
		"nothing given": {
			args: []string{"--keep", "--resume"},
			kept: []string{"--allow-unrendered", "--fail", "db=slow:5m", "--fail", "web", "--seed", "-3", "--speed", "60"},
			want: []string{"--allow-unrendered", "--fail", "db=slow:5m", "--fail", "web", "--seed", "-3", "--speed", "60"},
		},
		"what is given counts": {
			args: []string{"--keep", "--resume", "--fail", "cache", "--speed", "60"},
			kept: []string{"--confine", "off", "--fail", "db", "--speed", "60"},
			want: []string{"--fail", "cache", "--speed", "60"},
		},
		"approvals and their reason": {
			args: []string{"--keep", "--resume"},
			kept: []string{"--approve", "250", "--reason", "OPS-12"},
			want: []string{"--approve", "250", "--reason", "OPS-12"},
		},
		"other approvals, without the reason": {
			args: []string{"--keep", "--resume", "--approve", "350"},
			kept: []string{"--approve", "250", "--reason", "OPS-12"},
			want: []string{"--approve", "350"},
		},
		"another speed":    {args: []string{"--keep", "--resume", "--speed", "10"}, kept: []string{"--speed", "60"}, refused: "--speed 10: the rehearsal that is to go on was started with --speed 60"},
		"no longer skips":  {args: []string{"--keep", "--resume", "--speed", "10"}, refused: "was started with --speed skip"},
		"skips as before":  {args: []string{"--keep", "--resume", "--speed", "skip"}, want: []string{"--speed", "skip"}},
		"skips by default": {args: []string{"--keep", "--resume"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			cmd := New(&stream.Streams{Err: &out, Getenv: func(string) string { return "" }}, &flags.Global{})
			if err := cmd.ParseFlags(tc.args); err != nil {
				t.Fatal(err)
			}
			err := takeOver(cmd, tc.kept)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Fatalf("error %v, want %q", err, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, steering.Flags(cmd, "keep", "resume")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
