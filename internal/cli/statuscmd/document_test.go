package statuscmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/cli/running"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// TestNotKept: a status tells what the order did not keep, as the report of the rollout does.
func TestNotKept(t *testing.T) {
	spec := rollout.Spec{
		Policy: rollout.Phases, Steps: []rollout.StepSpec{{Label: "010"}}, Components: []rollout.ComponentSpec{{Name: "web"}},
		NotKept: []rollout.Requirement{{From: "web", To: "db"}},
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m, err := rollout.NewMachine(spec, now)
	if err != nil {
		t.Fatal(err)
	}
	s := running.Snapshot{Machine: m, State: m.State()}
	doc := Of(s, now)
	if len(doc.NotKept) != 1 {
		t.Errorf("not kept: %v", doc.NotKept)
	}
	var b bytes.Buffer
	printStatus(&b, doc, s, now)
	if !strings.Contains(b.String(), "\n! web comes before db in the ladder, yet it requires it\n") {
		t.Errorf("status:\n%s", b.String())
	}
}
