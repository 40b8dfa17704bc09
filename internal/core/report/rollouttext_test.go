package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

func at(s int) Time { return Time(time.Date(2026, 1, 2, 3, 4, s, 0, time.UTC)) }

func failedReport() Rollout {
	return Rollout{
		Result: "failed", Environment: "dev", Policy: "phases", Speed: 60, Seed: 1, Revision: "abc",
		MakespanSeconds: 9, BoundSeconds: 4, ExpectedSeconds: 300,
		Components: []RolloutComponent{
			{Name: "crds", Phase: "110", Type: "crds", State: "healthy", StartedAt: at(0), SyncedAt: at(1), HealthyAt: at(2), Attempts: 1},
			{Name: "old", Phase: "110", Type: "crds", State: "skipped"},
			{Name: "db", Phase: "250", Type: "runtime", State: "timed-out", StartedAt: at(2), EndedAt: at(9), Attempts: 1,
				Object: "apps/StatefulSet/data/db", Message: "timed out: pod db-0: secret \"db\" not found\x1b[2J"},
			{Name: "far", Phase: "650", Type: "runtime", State: "blocked", BlockedBy: []Blocker{{Component: "db", Reason: "db timed out"}}},
			{Name: "web", Phase: "650", Type: "runtime", State: "blocked", BlockedBy: []Blocker{{Component: "db", Reason: "db timed out"}}},
		},
		Against: []PlanEdge{{From: "db", To: "secrets", Reason: "needs Secret data/db",
			Evidence: []finding.Evidence{{Text: "StatefulSet data/db reads it", File: "db.yaml", Line: 7}}}},
		Unrendered: []Unrendered{{Component: "far", Reason: "remote chart", File: "far.yaml", Line: 3}},
	}
}

func TestRolloutText(t *testing.T) {
	var b strings.Builder
	if err := RolloutText(&b, failedReport(), Style{}); err != nil {
		t.Fatal(err)
	}
	want := `! 1 component is not rendered, whole or in part: what is in the rest is not known
    far.yaml:3  far: remote chart

! db comes before secrets in the ladder, yet it needs Secret data/db
    db.yaml:7  StatefulSet data/db reads it

✓ 110     crds         1/1      2.0s  1 skipped  slowest crds 2.0s
✕ 250     runtime      0/1      7.0s  1 failed  slowest db 7.0s
· 650     runtime      0/2         -  2 blocked (1 not rendered)

✕ failed: 1 of 4 components Healthy, 1 not rendered (of these 1 blocked) after 9.0s
  environment dev, policy phases, times are real, with simulated delays divided by 60, seed 1, the plan expected 5m00s at speed 1, 1 skipped, revision abc

✕ db (250) timed-out
    object: apps/StatefulSet/data/db
    reason: timed out: pod db-0: secret "db" not found [2J
    attempts: 1

… 2 components wait on db:
    far, web
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The column of the phases is as wide as the widest of them.
func TestRolloutTextOfLongPhases(t *testing.T) {
	r := failedReport()
	r.Components[2].Phase = "platform-operators"
	var b strings.Builder
	if err := RolloutText(&b, r, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n✓ 110                crds  ", "\n✕ platform-operators runtime  ", "\n· 650                runtime  "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}

// What waits for no component waits as a sentence says.
func TestRolloutTextOfWaits(t *testing.T) {
	r := failedReport()
	r.Components[3].BlockedBy = []Blocker{{Reason: "the rollout is paused by anna"}}
	r.Components[4].BlockedBy = nil
	var b strings.Builder
	if err := RolloutText(&b, r, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n… 1 component waits, as nothing is known of why:\n    web\n",
		"\n… 1 component waits, as the rollout is paused by anna:\n    far\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}

// That a rollout has ended tells less than what timed out before what did not start.
func TestCausesOfAnEnd(t *testing.T) {
	end := rollout.Blocker{Kind: rollout.OnEnd, Reason: "the rollout timed out after 15s"}
	step := rollout.Blocker{Kind: rollout.OnStep, Component: "web", Reason: "step 1 comes first: it timed out"}
	if diff := cmp.Diff([]rollout.Blocker{step, end}, CausesFirst([]rollout.Blocker{step, end})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// On a terminal no row is longer than that is wide, no word is broken, and a note for which
// there is no room is left out as a whole.
func TestRolloutTextOfATerminal(t *testing.T) {
	r := failedReport()
	r.Components[0].Name = "a-component-with-a-name-that-is-rather-long"
	r.Kubeconfig = "/home/of/somebody/.local/state/ladder/planes/rehearsal/plane/kubeconfig"
	r.Components[3].BlockedBy = []Blocker{{Reason: "the rollout is paused by somebody who has a long name"}}
	var b strings.Builder
	if err := RolloutText(&b, r, Style{Width: 60, Color: true}); err != nil {
		t.Fatal(err)
	}
	text := stripped(b.String())
	for _, want := range []string{
		"✓ 110     crds         1/1      2.0s  1 skipped\n",
		"✕ 250     runtime      0/1      7.0s  1 failed\n",
		"  environment dev, policy phases, times are real, with\n  simulated delays divided by 60, seed 1, the plan expected\n  5m00s at speed 1, 1 skipped, revision abc\n",
		"· 650     runtime      0/2         -  2 blocked\n",
		"    reason: timed out: pod db-0: secret \"db\" not found [2J\n",
		"\n… 1 component waits, as the rollout is paused by somebody\n  who has a long name:\n    far\n",
		"\nThe plane stays up:\n  export KUBECONFIG=" + r.Kubeconfig + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// The last line says which of the times are simulated, and what the plan expected in the same
// time.
func TestRolloutTextOfTimes(t *testing.T) {
	for want, r := range map[string]Rollout{
		"policy phases, times are simulated (34s of real time), seed 1, the plan expected 22m40s, revision abc\n": {Speed: 1, RealSeconds: 34, ExpectedSeconds: 1360},
		"policy phases, speed 1, seed 1, the plan expected 22m40s, revision abc\n":                                {Speed: 1, ExpectedSeconds: 1360},
		"policy phases, speed 1, seed 1, revision abc\n":                                                          {Speed: 1, BoundSeconds: 5},
	} {
		r.Policy, r.Seed, r.Revision = "phases", 1, "abc"
		var b strings.Builder
		if err := RolloutText(&b, r, Style{}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

// What has no place in the order is not given an empty one.
func TestRolloutTextWithoutPhases(t *testing.T) {
	var b strings.Builder
	r := Rollout{Result: "failed", Components: []RolloutComponent{{Name: "a", State: "failed", EndedAt: at(2), StartedAt: at(1)}}}
	if err := RolloutText(&b, r, Style{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\n✕ a failed\n") {
		t.Error(b.String())
	}
}

// A rollout that only failed because it was not judged whole says so in its verdict.
func TestRolloutTextOfUnrendered(t *testing.T) {
	r := Rollout{Result: "failed", MakespanSeconds: 9, Components: []RolloutComponent{
		{Name: "a", Phase: "010", State: "healthy"}, {Name: "b", Phase: "020", State: StateUnrendered},
	}}
	for result, want := range map[string]string{
		"failed":    "✕ failed: 1 of 2 components Healthy, 1 not rendered (only --allow-unrendered lets that pass) after 9.0s\n",
		"succeeded": "! succeeded: 1 of 2 components Healthy, 1 not rendered after 9.0s\n",
	} {
		r.Result = result
		var b strings.Builder
		if err := RolloutText(&b, r, Style{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

// A rollout that removes says how much it removed, and what it could not.
func TestRolloutTextOfRemovals(t *testing.T) {
	r := Rollout{
		Result: "succeeded", Environment: "dev", Policy: "phases", Speed: 60, Seed: 1, Revision: "abc", MakespanSeconds: 9,
		Components: []RolloutComponent{
			{Name: "site", Phase: "250", Type: "runtime", State: "healthy", StartedAt: at(0), HealthyAt: at(2), Attempts: 1},
			{Name: "off", Phase: "250", Type: "runtime", State: "removed", Removal: true},
			{Name: "old", State: "removed", Removal: true},
		},
	}
	text := func() string {
		var b strings.Builder
		if err := RolloutText(&b, r, Style{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := `✓ 250     runtime      1/1      2.0s  slowest site 2.0s

✓ succeeded: 1 of 1 components Healthy, 2 removed after 9.0s
  environment dev, policy phases, times are real, with simulated delays divided by 60, seed 1, revision abc
`
	if diff := cmp.Diff(want, text()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Result = "failed"
	r.Components[1] = RolloutComponent{
		Name: "shop", State: "failed", Removal: true, Attempts: 1,
		Object: "/Namespace//shop", Message: "Namespace shop holds objects of site",
	}
	want = `✓ 250     runtime      1/1      2.0s  slowest site 2.0s

✕ failed: 1 of 1 components Healthy, 1 of 2 removed after 9.0s
  environment dev, policy phases, times are real, with simulated delays divided by 60, seed 1, revision abc

✕ shop (removal) failed
    object: /Namespace//shop
    reason: Namespace shop holds objects of site
    attempts: 1
`
	if diff := cmp.Diff(want, text()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A component that was tried again took the time since its first attempt, and so did its
// phase.
func TestRolloutTextOfAttempts(t *testing.T) {
	r := Rollout{
		Result: "failed", Components: []RolloutComponent{{Name: "a", Phase: "010", State: "failed", StartedAt: at(50), EndedAt: at(50), Attempts: 3}},
		Transitions: []Transition{
			{At: at(1), Component: "a", To: "syncing"}, {At: at(1), Component: "a", To: "retrying"},
			{At: at(20), Component: "a", To: "syncing"}, {At: at(50), Component: "a", To: "failed"},
		},
	}
	var b strings.Builder
	if err := RolloutText(&b, r, Style{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), " 49s  1 failed  slowest a 49s\n") {
		t.Error(b.String())
	}
}

// The marks of phases are those of a rollout that has ended: nothing runs any more, and
// a phase of which something was not rendered is not called whole.
func TestRolloutTextMarks(t *testing.T) {
	r := Rollout{Result: "failed", Components: []RolloutComponent{
		{Name: "a", Phase: "010", State: "healthy"}, {Name: "b", Phase: "010", State: StateUnrendered},
		{Name: "c", Phase: "020", State: "healthy"}, {Name: "d", Phase: "020", State: "blocked"},
		{Name: "e", Phase: "030", State: "blocked"},
	}}
	marks := func(want ...string) {
		t.Helper()
		var b strings.Builder
		if err := RolloutText(&b, r, Style{}); err != nil {
			t.Fatal(err)
		}
		var marks []string
		for _, line := range strings.Split(b.String(), "\n") {
			if words := strings.Fields(line); len(words) > 1 && strings.Contains("✓✕!·▶", words[0]) {
				marks = append(marks, strings.Join(words[:2], " "))
			}
		}
		if diff := cmp.Diff(want, marks); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	marks("! 010", "· 020", "· 030", "✕ failed:")
	// What was in flight when the rollout was left has not failed.
	r = Rollout{Result: ResultInterrupted, Components: []RolloutComponent{
		{Name: "a", Phase: "010", State: "healthy"}, {Name: "b", Phase: "010", State: "progressing", StartedAt: at(1)},
		{Name: "c", Phase: "020", State: "failed", StartedAt: at(1), EndedAt: at(2)}, {Name: "d", Phase: "030", State: "blocked"},
	}}
	marks("▶ 010", "✕ 020", "· 030", "▶ interrupted:", "▶ b", "✕ c")
}

func TestRolloutMarkdownEscapes(t *testing.T) {
	r := failedReport()
	r.Components[2].Message = "a | b <script>\nc"
	var b strings.Builder
	if err := RolloutMarkdown(&b, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "| `db` | 250 | timed-out | a \\| b &lt;script> c |") {
		t.Errorf("the row of db is not there or not escaped:\n%s", b.String())
	}
}

// TestOrderAgainstARequirement: a rollout that ends well although its order did not
// keep a requirement says so in its verdict.
func TestOrderAgainstARequirement(t *testing.T) {
	r := Rollout{
		Result: "succeeded", MakespanSeconds: 9,
		Components: []RolloutComponent{{Name: "a", Phase: "250", State: "healthy"}, {Name: "b", Phase: "350", State: "healthy"}},
		Against:    []PlanEdge{{From: "a", To: "b", Strength: "hard", Reason: "requires"}},
	}
	for want, write := range map[string]func(*strings.Builder) error{
		"! succeeded: 2 of 2 components Healthy after 9.0s; 1 requirement not kept by the order\n": func(b *strings.Builder) error { return RolloutText(b, r, Style{}) },
		"2 of 2 components Healthy after 9.0s; 1 requirement not kept by the order.\n":             func(b *strings.Builder) error { return RolloutMarkdown(b, r) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) || !strings.Contains(b.String(), "before") {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

// TestErrorsOfTheRepository: a rollout that ends well although the repository asks for what
// it cannot have says so.
func TestErrorsOfTheRepository(t *testing.T) {
	r := Rollout{
		Result: "succeeded", MakespanSeconds: 9, Components: []RolloutComponent{{Name: "web", Phase: "250", State: "healthy"}},
		Errors: []finding.Finding{{
			Rule: "unknown-requirement", Severity: finding.Error, Message: "web requires nosuch, which does not exist",
			Position: finding.Position{File: "web.yaml", Line: 5}, Fix: finding.Fix{Summary: "correct the name"},
		}},
	}
	var text, markdown strings.Builder
	if err := RolloutText(&text, r, Style{}); err != nil {
		t.Fatal(err)
	}
	if err := RolloutMarkdown(&markdown, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"! web requires nosuch, which does not exist\n    web.yaml:5  [unknown-requirement]\n    fix: correct the name\n\n",
		"! succeeded: 1 of 1 components Healthy after 9.0s; 1 error in the repository\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, text.String())
		}
	}
	for _, want := range []string{"after 9.0s; 1 error in the repository.\n", "\n- web requires nosuch, which does not exist (web.yaml:5)\n\n"} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("no %q in:\n%s", want, markdown.String())
		}
	}
}

// A step that somebody let start says who, when and why, as one line.
func TestRolloutTextOfApprovals(t *testing.T) {
	r := Rollout{
		Result: "succeeded", Environment: "dev", Policy: "phases", Speed: 1, Revision: "abc",
		Approvals: []Approval{
			{Step: "350", At: Time(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), By: "ann@host", Reason: "OPS-12:\nowners | agree"},
			{Step: "450", At: Time(time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC))},
		},
	}
	var text, markdown strings.Builder
	if err := RolloutText(&text, r, Style{}); err != nil {
		t.Fatal(err)
	}
	want := "revision abc\n  step 350 approved by ann@host at 2026-01-02T03:04:05Z: OPS-12: owners | agree\n  step 450 approved by somebody at 2026-01-02T03:05:00Z\n"
	if !strings.HasSuffix(text.String(), want) {
		t.Errorf("%s\nwant at the end:\n%s", text.String(), want)
	}
	if err := RolloutMarkdown(&markdown, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(markdown.String(), "- step 350 approved by ann@host at 2026-01-02T03:04:05Z: OPS-12: owners \\| agree\n") {
		t.Error(markdown.String())
	}
}

// TestSmokesThatTestNothing: a rehearsal whose smokes cannot fail says so at its top and in
// its verdict, with the ways out.
func TestSmokesThatTestNothing(t *testing.T) {
	untested := func(component string) finding.Finding {
		return finding.Finding{
			Rule: "smoke-tests-nothing", Severity: finding.Error, Component: component, Message: component + " is a smoke that applies nothing",
			Position: finding.Position{File: component + ".yaml", Line: 5}, Fix: finding.Fix{Summary: "make it a Job"},
		}
	}
	r := Rollout{Result: "failed", MakespanSeconds: 9, Components: []RolloutComponent{{Name: "a", Phase: "250", State: "healthy"}}}
	for _, c := range []struct {
		untested             []finding.Finding
		text, more, markdown string
	}{
		{
			[]finding.Finding{untested("a")},
			"✕ failed: 1 of 1 components Healthy after 9.0s; 1 smoke tests nothing\n",
			"✕ a is a smoke that applies nothing\n    a.yaml:5  [smoke-tests-nothing]\n    fix: make it a Job\n  A smoke that something else judges passes with a reason in its descriptor: # ladder:ignore smoke-tests-nothing REASON\n\n",
			"after 9.0s; 1 smoke tests nothing.\n",
		},
		{
			[]finding.Finding{untested("a"), untested("b"), untested("b")},
			"; 2 smokes test nothing\n", "✕ b is a smoke that applies nothing\n    b.yaml:5  [smoke-tests-nothing]\n",
			"- b is a smoke that applies nothing (b.yaml:5)\n\nA smoke that something else judges passes with a reason",
		},
	} {
		r.Untested = c.untested
		var text, markdown strings.Builder
		if err := RolloutText(&text, r, Style{}); err != nil {
			t.Fatal(err)
		}
		if err := RolloutMarkdown(&markdown, r); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{c.text, c.more} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no %q in:\n%s", want, text.String())
			}
		}
		if !strings.Contains(markdown.String(), c.markdown) {
			t.Errorf("no %q in:\n%s", c.markdown, markdown.String())
		}
	}
}
