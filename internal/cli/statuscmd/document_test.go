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

// TestSimulated: where a rehearsal skips time, only its beginning was some time ago.
func TestSimulated(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := began.Add(25 * time.Second)
	m, err := rollout.NewMachine(rollout.Spec{
		Revision: "r", Policy: rollout.Phases, Steps: []rollout.StepSpec{{Label: "010"}}, Components: []rollout.ComponentSpec{{Name: "db"}},
	}, began)
	if err != nil {
		t.Fatal(err)
	}
	m.Step(rollout.Started{}, began)
	m.Step(rollout.SyncFinished{Component: "db", Attempt: 1}, began.Add(43*time.Second))
	status := func(k *rehearse.Kept) (Status, string) {
		s := running.Snapshot{Machine: m, State: m.State(), Rehearsal: k}
		doc := Of(s, clock)
		var b bytes.Buffer
		printStatus(&b, doc, s, clock)
		return doc, b.String()
	}
	skips := &rehearse.Kept{Plane: "left", Began: began}
	if doc, text := status(skips); !doc.Simulated || !strings.Contains(text, "started 25s ago; 43s so far (simulated)\n") {
		t.Errorf("while it runs, simulated %t:\n%s", doc.Simulated, text)
	}
	m.Step(rollout.Observed{Component: "db", Health: rollout.Healthy, Revision: "r"}, began.Add(63*time.Second))
	doc, text := status(skips)
	if !strings.Contains(text, "started 25s ago; took 1m03s (simulated)\n") || doc.Components[0].Evidence.AgeSeconds != 0 {
		t.Errorf("the evidence is %gs old:\n%s", doc.Components[0].Evidence.AgeSeconds, text)
	}
	clock = began.Add(10 * time.Minute)
	if doc, text = status(&rehearse.Kept{Plane: "left"}); doc.Simulated || !strings.Contains(text, "started 10m00s ago, finished 8m57s ago\n") || doc.Components[0].Evidence.AgeSeconds != 537 {
		t.Errorf("where time passes, simulated %t, the evidence is %gs old:\n%s", doc.Simulated, doc.Components[0].Evidence.AgeSeconds, text)
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
