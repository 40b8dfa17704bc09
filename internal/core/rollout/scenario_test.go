package rollout

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestScenarios plays the scripts in testdata. A script is the comment of a
// txtar file; its section "ladder" is the rollout:
//
//	policy phases | edges | serial       on-failure halt | continue
//	cap N                                timeout DURATION
//	step LABEL [limit=N] [approval]
//	NAME step=LABEL [requires=A,B] [after=N] [timeout=D] [grace=D] [retries=N] [backoff=D] [rank=D]
//	remove NAME [requires=A,B] [timeout=D] [retries=N] [backoff=D]
//
// and its lines are:
//
//	start | pause | resume | abort | crash | approve LABEL | retry [NAME]
//	sync-ok NAME...                the attempt that is out ends well
//	sync-fail NAME [final] TEXT    or not
//	gone NAME...                   the deletion that is out ends well
//	remove-fail NAME [final] TEXT  or not
//	observe NAME HEALTH [revision=R] [ago=D] [final] [TEXT]
//	after DURATION                 time passes, with every tick that is due
//	expect NAME=STATUS...          statuses of components; * for all others
//	why NAME TEXT                  a blocker of the component says TEXT
//	because NAME TEXT              its last transition has the reason TEXT
//	message NAME TEXT              its message holds TEXT
//	attempts NAME N
//	result RESULT [TEXT]           running, or how it ended
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := &player{t: t, now: epoch, because: map[string]string{}}
			for _, f := range archive.Files {
				if f.Name == "ladder" {
					p.machine = parseLadder(t, string(f.Data))
				}
			}
			for n, line := range strings.Split(string(archive.Comment), "\n") {
				line = strings.TrimSpace(line)
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				if err := p.play(line); err != nil {
					t.Fatalf("%s:%d: %s: %v", file, n+1, line, err)
				}
			}
		})
	}
}

func parseLadder(t *testing.T, text string) *Machine {
	t.Helper()
	spec := Spec{Revision: revision, Policy: Phases, OnFailure: Halt}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "policy":
			spec.Policy = Policy(words[1])
		case "on-failure":
			spec.OnFailure = FailurePolicy(words[1])
		case "cap":
			spec.MaxInFlight = number(t, words[1])
		case "timeout":
			spec.Timeout = duration(t, words[1])
		case "step":
			s := StepSpec{Label: words[1]}
			for _, w := range words[2:] {
				if limit, ok := strings.CutPrefix(w, "limit="); ok {
					s.Limit = number(t, limit)
				}
				s.Approval = s.Approval || w == "approval"
			}
			spec.Steps = append(spec.Steps, s)
		case "remove":
			c := parseComponent(t, spec, words[1:])
			spec.Remove = append(spec.Remove, RemovalSpec{
				Name: c.Name, Requires: c.Requires, EdgesKnown: len(c.Requires) > 0, Timeout: c.Timeout, Retry: c.Retry,
			})
		default:
			spec.Components = append(spec.Components, parseComponent(t, spec, words))
		}
	}
	m, err := NewMachine(spec, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func parseComponent(t *testing.T, spec Spec, words []string) ComponentSpec {
	c := ComponentSpec{Name: words[0]}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "step":
			c.Step = slices.IndexFunc(spec.Steps, func(s StepSpec) bool { return s.Label == value })
		case "requires":
			c.Requires = strings.Split(value, ",")
		case "after":
			c.After = number(t, value)
		case "timeout":
			c.Timeout = duration(t, value)
		case "grace":
			c.DegradedGrace = duration(t, value)
		case "retries":
			c.Retry.Limit = number(t, value)
		case "timeouts":
			c.Retry.MaxTimeouts = number(t, value)
		case "backoff":
			c.Retry.Duration, c.Retry.Factor = duration(t, value), 2
		case "rank":
			c.Rank = duration(t, value)
		default:
			t.Fatalf("unknown word %q", w)
		}
	}
	return c
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func duration(t *testing.T, s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// player plays one script.
type player struct {
	t       *testing.T
	machine *Machine
	now     time.Time
	// because is the reason of the last transition of each component.
	because map[string]string
}

func (p *player) play(line string) error {
	words := strings.Fields(line)
	verb, args := words[0], words[1:]
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch verb {
	case "start":
		p.step(Started{})
	case "pause":
		p.step(Pause{By: first})
	case "resume":
		p.step(Resume{})
	case "abort":
		p.step(Abort{By: first})
	case "retry":
		p.step(Retry{Component: first})
	case "approve":
		steps := p.machine.Spec().Steps
		p.step(Approve{Step: slices.IndexFunc(steps, func(s StepSpec) bool { return s.Label == first })})
	case "crash":
		return p.crash()
	case "after":
		p.after(duration(p.t, first))
	case "sync-ok":
		for _, name := range args {
			c, _ := p.machine.Component(name)
			p.step(SyncFinished{Component: name, Attempt: c.Attempt})
		}
	case "sync-fail":
		c, _ := p.machine.Component(first)
		text, final := failureText(args)
		p.step(SyncFinished{Component: first, Attempt: c.Attempt, Error: text, Final: final})
	case "gone":
		for _, name := range args {
			c, _ := p.machine.Component(name)
			p.step(RemoveFinished{Component: name, Attempt: c.Attempt})
		}
	case "remove-fail":
		c, _ := p.machine.Component(first)
		text, final := failureText(args)
		p.step(RemoveFinished{Component: first, Attempt: c.Attempt, Error: text, Final: final})
	case "observe":
		p.step(p.observation(args))
	case "expect":
		return p.expect(args)
	case "why":
		blockers := p.machine.BlockedBy(first)
		want := strings.Join(args[1:], " ")
		if !slices.ContainsFunc(blockers, func(b Blocker) bool {
			text := fmt.Sprintf("%s: %s %s", b.Kind, b.Component, b.Reason)
			return strings.Contains(strings.Join(strings.Fields(text), " "), want)
		}) {
			return fmt.Errorf("it waits for %+v", blockers)
		}
	case "because":
		if got := p.because[first]; got != strings.Join(args[1:], " ") {
			return fmt.Errorf("the reason is %q", got)
		}
	case "message":
		c, _ := p.machine.Component(first)
		if want := strings.Join(args[1:], " "); !strings.Contains(c.Message, want) {
			return fmt.Errorf("the message is %q", c.Message)
		}
	case "attempts":
		if c, _ := p.machine.Component(first); c.Attempt != number(p.t, args[1]) {
			return fmt.Errorf("%d attempts", c.Attempt)
		}
	case "result":
		got := string(p.machine.Result())
		if got == "" {
			got = "running"
		}
		message := p.machine.Progress().Message
		if got != first || !strings.Contains(message, strings.Join(args[1:], " ")) {
			return fmt.Errorf("the result is %s: %s", got, message)
		}
	default:
		return fmt.Errorf("unknown verb")
	}
	return nil
}

// failureText is the rest of a line that says how NAME failed.
func failureText(args []string) (text string, final bool) {
	if final = len(args) > 1 && args[1] == "final"; final {
		args = args[1:]
	}
	return strings.Join(args[1:], " "), final
}

func (p *player) step(e Event) {
	for _, t := range p.machine.Step(e, p.now).Change.Transitions {
		p.because[t.Component] = t.Reason
	}
}

func (p *player) observation(args []string) Observed {
	seen := Observed{Component: args[0], Health: Health(args[1]), Revision: revision, At: p.now}
	var text []string
	for _, w := range args[2:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "revision":
			seen.Revision = value
		case "ago":
			seen.At = p.now.Add(-duration(p.t, value))
		case "final":
			seen.Final = true
		default:
			text = append(text, w)
		}
	}
	seen.Message = strings.Join(text, " ")
	return seen
}

// after lets time pass, from one due tick to the next.
func (p *player) after(d time.Duration) {
	end := p.now.Add(d)
	for {
		due := p.machine.NextWake().At
		if due.IsZero() || due.After(end) {
			break
		}
		p.now = due
		p.step(Tick{})
	}
	p.now = end
	p.step(Tick{})
}

// crash takes the state through its serialised form into another machine.
func (p *player) crash() error {
	text, err := json.Marshal(p.machine.State())
	if err != nil {
		return err
	}
	var state State
	if err := json.Unmarshal(text, &state); err != nil {
		return err
	}
	if p.machine, err = Restore(state); err != nil {
		return err
	}
	p.step(Recovered{})
	return nil
}

func (p *player) expect(args []string) error {
	want := map[string]string{}
	for _, a := range args {
		name, status, _ := strings.Cut(a, "=")
		want[name] = status
	}
	var wrong []string
	state := p.machine.State()
	for _, c := range append(state.Components, state.Removals...) {
		status, named := want[c.Name]
		if !named {
			status, named = want["*"]
		}
		if named && status != string(c.Status) {
			wrong = append(wrong, fmt.Sprintf("%s is %s (%s)", c.Name, c.Status, c.Message))
		}
		delete(want, c.Name)
	}
	delete(want, "*")
	if len(want) > 0 {
		wrong = append(wrong, fmt.Sprintf("no such components: %v", want))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, ", "))
	}
	return nil
}
