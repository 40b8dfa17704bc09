package statuscmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/cli/running"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/run/rehearse"
)

// TestNotKept: a status tells what the order did not keep, as the report of the rollout does.
func TestNotKept(t *testing.T) {
	spec := rollout.Spec{
		Policy: rollout.Phases, Steps: []rollout.StepSpec{{Label: "platform-operators"}}, Components: []rollout.ComponentSpec{{Name: "web"}},
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
	if !strings.Contains(b.String(), "\n  STEP                COMPONENT  STATE ") || !strings.Contains(b.String(), "\n· platform-operators  web        blocked ") {
		t.Errorf("columns:\n%s", b.String())
	}
	if !strings.Contains(b.String(), "\n! web comes before db in the ladder, yet it requires it\n") {
		t.Errorf("status:\n%s", b.String())
	}
}

// TestUnrendered: what stood in as an empty component is never called Healthy.
func TestUnrendered(t *testing.T) {
	spec := rollout.Spec{
		Policy: rollout.Phases, Steps: []rollout.StepSpec{{Label: "010", Phase: true}},
		Components: []rollout.ComponentSpec{{Name: "db"}, {Name: "web", Unrendered: true}},
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m, err := rollout.NewMachine(spec, now)
	if err != nil {
		t.Fatal(err)
	}
	s := running.Snapshot{Machine: m, State: m.State()}
	if doc := Of(s, now); doc.Components[1].State != string(rollout.Blocked) {
		t.Errorf("state %q before it starts", doc.Components[1].State)
	}
	for i := range s.State.Components {
		s.State.Components[i].Status = rollout.Done
	}
	doc := Of(s, now)
	if doc.Components[0].State != string(rollout.Done) || doc.Components[1].State != report.StateUnrendered {
		t.Errorf("states %q, %q", doc.Components[0].State, doc.Components[1].State)
	}
	if doc.Counts[string(rollout.Done)] != 1 || doc.Counts[report.StateUnrendered] != 1 {
		t.Errorf("counts %v", doc.Counts)
	}
	s.State.Result = rollout.Succeeded
	s.Rehearsal = &rehearse.Kept{Unshown: "1 component not rendered"}
	doc = Of(s, now)
	if doc.Result != string(rollout.ResultFailed) || !strings.Contains(doc.Message, "the rehearsal failed: 1 component not rendered") {
		t.Errorf("result %s, message %q", doc.Result, doc.Message)
	}
	var b bytes.Buffer
	printStatus(&b, doc, s, now)
	if !strings.Contains(b.String(), "\n  PHASE  COMPONENT  STATE ") || !strings.Contains(b.String(), "! 010    web        unrendered ") {
		t.Errorf("status:\n%s", b.String())
	}
}

// TestCommands: what to do is told as commands on lines of their own.
func TestCommands(t *testing.T) {
	var b bytes.Buffer
	s := running.Snapshot{Rehearsal: &rehearse.Kept{Plane: "left", Path: "/my platform", Environment: "dev"}}
	printCommands(&b, Status{Result: "running", Approvals: []string{"400"}}, s)
	goOn := "  ladder rehearse '/my platform' --environment dev --plane left --resume"
	if want := "go on with:\n" + goOn + "\nstep 400 waits for an approval:\n" + goOn + " --approve 400\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
