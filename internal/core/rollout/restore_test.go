package rollout

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestNewMachineRefuses(t *testing.T) {
	two := func(change func(*Spec)) Spec {
		s := Spec{
			Revision: revision, Policy: Edges, OnFailure: Halt, Steps: []StepSpec{{Label: "100"}, {Label: "200"}},
			Components: []ComponentSpec{{Name: "a"}, {Name: "b", Step: 1}},
		}
		change(&s)
		return s
	}
	tests := map[string]struct {
		spec Spec
		want string
	}{
		"an unknown policy":         {two(func(s *Spec) { s.Policy = "luck" }), "luck"},
		"an unknown failure policy": {two(func(s *Spec) { s.OnFailure = "cry" }), "cry"},
		"a name twice":              {two(func(s *Spec) { s.Components[1].Name = "a" }), `"a"`},
		"an unknown requirement":    {two(func(s *Spec) { s.Components[1].Requires = []string{"x"} }), `b requires "x"`},
		"a step that is not there":  {two(func(s *Spec) { s.Components[1].Step = 2 }), "b is in step 2"},
		"components that require each other": {two(func(s *Spec) {
			s.Components[0].Requires, s.Components[1].Requires = []string{"b"}, []string{"a"}
		}), "a -> b -> a"},
		"a requirement in a later step under phases": {two(func(s *Spec) {
			s.Policy, s.Components[0].Requires = Phases, []string{"b"}
		}), "wait for each other"},
		"a requirement that comes later under serial": {two(func(s *Spec) {
			s.Policy, s.Components[0].Requires = Serial, []string{"b"}
		}), "wait for each other"},
		"a removal of what stays": {two(func(s *Spec) { s.Remove = []RemovalSpec{{Name: "a"}} }), `"a" has no name`},
		"a removal twice":         {two(func(s *Spec) { s.Remove = []RemovalSpec{{Name: "x"}, {Name: "x"}} }), `"x" has no name`},
		"removals out of order": {two(func(s *Spec) {
			s.Remove = []RemovalSpec{{Name: "x", Requires: []string{"y"}}, {Name: "y"}}
		}), `x requires "y"`},
		"a requirement that waits for the step": {two(func(s *Spec) {
			s.Components[0].Requires, s.Components[1].After = []string{"b"}, 1
		}), "wait for each other"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := NewMachine(tt.spec, epoch); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestApplyLeavesTheGivenState(t *testing.T) {
	spec := Spec{
		Revision: revision, Policy: Phases, OnFailure: Halt,
		Steps: []StepSpec{{Label: "100"}}, Components: []ComponentSpec{{Name: "a"}},
	}
	before := New(spec, epoch)
	m, err := Restore(before)
	if err != nil {
		t.Fatal(err)
	}
	applied := before.Apply(m.Step(Started{}, epoch).Change)
	if applied.Components[0].Status != Syncing || before.Components[0].Status != Blocked {
		t.Errorf("applied %s, before %s", applied.Components[0].Status, before.Components[0].Status)
	}
}

func TestBackoff(t *testing.T) {
	r := RetrySpec{Limit: 9, Duration: 5 * time.Second, Factor: 2, MaxDuration: 30 * time.Second}
	for n, want := range map[int]time.Duration{
		1: 5 * time.Second, 2: 10 * time.Second, 3: 20 * time.Second, 4: 30 * time.Second, 1000: 30 * time.Second,
	} {
		if got := r.backoff(n); got != want {
			t.Errorf("backoff(%d) = %s, want %s", n, got, want)
		}
	}
	if got := (RetrySpec{Limit: -1}).backoff(1); got != minBackoff {
		t.Errorf("an endless retry waits %s", got)
	}
	if got := (RetrySpec{Duration: time.Hour, Factor: 10}).backoff(1000); got != 24*time.Hour {
		t.Errorf("a backoff without a bound grows to %s", got)
	}
}

// FuzzRestore takes up whatever can be read as a state: it is refused, or the
// rollout goes on without a panic.
func FuzzRestore(f *testing.F) {
	for _, policy := range Policies() {
		spec := broad(6, policy)
		spec.Remove = []RemovalSpec{{Name: "x"}, {Name: "y", Requires: []string{"x"}, EdgesKnown: true, Timeout: time.Minute}}
		m, err := NewMachine(spec, epoch)
		if err != nil {
			f.Fatal(err)
		}
		m.Step(Started{}, epoch)
		text, err := json.Marshal(m.State())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var state State
		if json.Unmarshal(text, &state) != nil {
			return
		}
		m, err := Restore(state)
		if err != nil {
			return
		}
		for k, e := range []Event{Recovered{}, Tick{}, Retry{}, Approve{Step: 0}, Pause{}, Resume{}, Tick{}, Abort{}, Resume{}} {
			m.Step(e, epoch.Add(time.Duration(k)*time.Hour))
			s := m.State()
			for _, c := range append(s.Components, s.Removals...) {
				m.BlockedBy(c.Name)
			}
		}
	})
}
