package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/outcome"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// TestVerdict holds the table of exit codes for the ends of a rollout.
func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		result      rollout.Result
		interrupted bool
		want        exit.Code
	}{
		"succeeded":   {rollout.Succeeded, false, exit.OK},
		"failed":      {rollout.ResultFailed, false, exit.No},
		"aborted":     {rollout.ResultAborted, false, exit.No},
		"timed out":   {rollout.ResultTimedOut, false, exit.TimedOut},
		"interrupted": {rollout.ResultFailed, true, exit.Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			err := outcome.Verdict(report.Rollout{Result: string(c.result)}, c.interrupted)
			got := exit.Of(err)
			if got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}

// TestReportPlaces: what people read has positions that open from where they stand, also on the
// summary page of a job; JSON has those of the platform.
func TestReportPlaces(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.MkdirAll(filepath.Join(dir, "platform"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "platform", "ladder.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "summary.md")
	at := finding.Position{File: "components/web/component.yaml", Line: 3}
	r := report.Rollout{
		Result: string(rollout.ResultFailed), Errors: []finding.Finding{{Message: "wrong", Position: at}},
		Unrendered: []report.Unrendered{{Component: "db", Reason: "no chart", File: "components/db/component.yaml", Line: 4}},
	}
	for format, below := range map[string]bool{"text": true, "markdown": true, "json": false} {
		var out bytes.Buffer
		streams := &stream.Streams{Out: &out, Err: &out, Getenv: func(key string) string {
			if key == "GITHUB_STEP_SUMMARY" {
				return page
			}
			return ""
		}}
		if err := (outcome.To{Format: format, Path: "platform"}).Write(streams, r); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "platform/components/"); (got == 2) != below || !below && got > 0 {
			t.Errorf("%s has %d positions that open from here:\n%s", format, got, out.String())
		}
	}
	if text, err := os.ReadFile(page); err != nil || strings.Count(string(text), "(platform/components/web/component.yaml:3)") != 3 {
		t.Errorf("the summary page says %s, %v", text, err)
	}
}
