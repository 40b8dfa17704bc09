package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// comp makes an enabled component in a phase.
func comp(name string, phase model.Phase) model.Component {
	return model.Component{Name: name, Phase: phase, Enabled: true, Type: model.Runtime}
}

// step makes a step with a limit of n; 0 for no limit.
func step(n int, phases ...model.Phase) LadderStep {
	return LadderStep{Phases: phases, MaxUpdate: MaxUpdate{Count: n, Set: n != 0}}
}

// hard and soft make an edge from "consumer->provider".
func hard(s string) Edge { return strong(s, Hard) }
func soft(s string) Edge { return strong(s, Soft) }

func strong(s string, strength Strength) Edge {
	from, to, _ := strings.Cut(s, "->")
	return Edge{From: from, To: to, Strength: strength}
}

func arrows(edges []Edge) []string {
	var s []string
	for _, e := range edges {
		s = append(s, e.From+"->"+e.To)
	}
	return s
}

func build(t *testing.T, in Input) *Plan {
	t.Helper()
	if in.Policy == "" {
		in.Policy = rollout.Phases
	}
	p, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOrder(t *testing.T) {
	components := []model.Component{comp("a", 20), comp("b", 10), comp("c", 10), comp("d", 20)}
	ladder := Ladder{Steps: []LadderStep{step(0, 10), step(0, 20)}}
	tests := map[string]struct {
		policy rollout.Policy
		edges  []Edge
		want   string
	}{
		"steps, then names":                    {rollout.Phases, nil, "b c a d"},
		"edges inside a step":                  {rollout.Phases, []Edge{hard("a->d"), hard("b->c")}, "c b d a"},
		"the ladder wins under phases":         {rollout.Phases, []Edge{hard("b->d")}, "b c a d"},
		"and under serial":                     {rollout.Serial, []Edge{hard("b->d"), hard("b->c")}, "c b a d"},
		"edges win under edges":                {rollout.Edges, []Edge{hard("b->d")}, "c a d b"},
		"a soft edge against a hard one drops": {rollout.Edges, []Edge{hard("b->c"), soft("c->b")}, "c b a d"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := build(t, Input{Components: components, Ladder: ladder, Edges: tt.edges, Policy: tt.policy})
			if diff := cmp.Diff(tt.want, strings.Join(p.Order, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEdgesAreClassified(t *testing.T) {
	off := comp("off", 10)
	off.Enabled = false
	p := build(t, Input{
		Components: []model.Component{comp("a", 10), comp("b", 10), comp("c", 20), comp("d", 20), off, comp("lost", 99)},
		Ladder:     Ladder{Steps: []LadderStep{step(0, 10), step(0, 20)}},
		Edges: []Edge{
			hard("a->b"), hard("b->a"), // a cycle
			hard("a->c"),               // against the order
			soft("c->a"),               // agrees with the order, but would close a cycle with it
			soft("c->d"), soft("d->c"), // the first one stays
			hard("d->off"), hard("a->lost"), hard("a->nobody"), hard("d->d"),
		},
	})
	got := map[string][]string{
		"edges": arrows(p.Edges), "against": arrows(p.Against), "dropped": arrows(p.Dropped),
		"unplanned": arrows(p.Unplanned), "unplaced": p.Unplaced, "disabled": p.Steps[0].Disabled,
	}
	want := map[string][]string{
		"edges":     {"a->b", "a->c", "b->a", "c->d"},
		"against":   {"a->c"},
		"dropped":   {"c->a", "d->c"},
		"unplanned": {"a->lost", "a->nobody", "d->off"},
		"unplaced":  {"lost"},
		"disabled":  {"off"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"a", "b", "a"}}, p.Cycles); diff != "" {
		t.Errorf("cycles (-want +got):\n%s", diff)
	}
}

func TestSteps(t *testing.T) {
	percent := LadderStep{Phases: []model.Phase{110}, MaxUpdate: MaxUpdate{Count: 25, Percent: true, Set: true}}
	manual := LadderStep{Phases: []model.Phase{120}, MaxUpdate: MaxUpdate{Count: 0, Set: true}, About: About{Gate: "Somebody looked."}}
	pre := model.Component{Name: "z-cni", PreArgo: true, Enabled: true, Phase: model.NoPhase}
	wave := func(name string, waves ...int) model.Component {
		return model.Component{Name: name, Waves: waves, Enabled: true, Phase: model.NoPhase}
	}
	tier := func(name, domain string, phase model.Phase) model.Component {
		c := comp(name, phase)
		c.Domain = domain
		return c
	}
	rolling := func(name string, step int) model.Component {
		return model.Component{Name: name, Set: "s", Step: step, Enabled: true, Phase: model.NoPhase}
	}
	below := func(name string, step, w int) model.Component {
		c := wave(name, step, w)
		c.Parents = []string{model.AtSteps("s"), "parent"}
		return c
	}
	tests := map[string]struct {
		components []model.Component
		ladder     Ladder
		want       []string // "label maxUpdate limit: components"
	}{
		"phases; a step may match nothing, several phases share one": {
			[]model.Component{comp("b", 110), comp("a", 110), comp("e", 130), comp("d", 135)},
			Ladder{Steps: []LadderStep{step(3, 10), percent, manual, step(2, 130, 135)}},
			[]string{"010 3 3: []", "110 25% 1: [a b]", "120 0 -1: []", "130,135 2 2: [d e]"},
		},
		"waves in lexicographic order, before them what comes before Argo CD": {
			[]model.Component{wave("w", 10, 30), wave("v", 60, 10), wave("s", -3), wave("u", 10), pre},
			Ladder{},
			[]string{"pre  0: [z-cni]", "-3  0: [s]", "10  0: [u]", "(10,30)  0: [w]", "(60,10)  0: [v]"},
		},
		"RollingSync steps of a set, of which one Application is a parent": {
			[]model.Component{rolling("last", 3), below("child", 1, 7), below("later", 2, 0), rolling("first", 1)},
			Ladder{},
			[]string{"1  0: [first]", "(1,7)  0: [child]", "(2,0)  0: [later]", "3  0: [last]"},
		},
		"tiers in parent order, the same phase in each": {
			[]model.Component{tier("db", "data", 10), tier("ns", "foundation", 10), tier("app", "apps", 10)},
			Ladder{Sets: []string{"foundation", "data", "apps"}, Steps: []LadderStep{
				{Set: "apps", Phases: []model.Phase{10}}, {Set: "foundation", Phases: []model.Phase{10}},
				{Set: "data", Phases: []model.Phase{10}},
			}},
			[]string{"010  0: [ns]", "010  0: [db]", "010  0: [app]"},
		},
		"no steps at all: one per phase, and wave 0": {
			[]model.Component{comp("b", 20), comp("a", 10)}, Ladder{},
			[]string{"010  0: [a]", "020  0: [b]"},
		},
		"no order at all": {
			[]model.Component{comp("b", model.NoPhase), comp("a", model.NoPhase)}, Ladder{},
			[]string{"no phase  0: [a b]"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := build(t, Input{Components: tt.components, Ladder: tt.ladder})
			var got []string
			for i, s := range p.Steps {
				if s.Index != i+1 {
					t.Errorf("step %d has index %d", i+1, s.Index)
				}
				got = append(got, fmt.Sprintf("%s %s %d: %v", s.Label, s.MaxUpdate, s.Limit, s.Components))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMaxUpdateLimit(t *testing.T) {
	tests := map[string]struct {
		m    MaxUpdate
		size int
		want int
	}{
		"nothing written":                {MaxUpdate{}, 9, 0},
		"a count":                        {MaxUpdate{Count: 3, Set: true}, 9, 3},
		"zero is by hand":                {MaxUpdate{Set: true}, 9, -1},
		"zero percent too":               {MaxUpdate{Percent: true, Set: true}, 9, -1},
		"a percentage is rounded down":   {MaxUpdate{Count: 50, Percent: true, Set: true}, 9, 4},
		"but not to zero":                {MaxUpdate{Count: 10, Percent: true, Set: true}, 9, 1},
		"a hundred percent is all of it": {MaxUpdate{Count: 100, Percent: true, Set: true}, 9, 9},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.m.Limit(tt.size); got != tt.want {
				t.Errorf("Limit(%d) = %d, want %d", tt.size, got, tt.want)
			}
		})
	}
}

// Five components of ten seconds, two steps, at most two of the first at once.
func scheduled(policy rollout.Policy) Input {
	return Input{
		Components: []model.Component{comp("a", 10), comp("b", 10), comp("c", 10), comp("d", 20), comp("e", 20)},
		Ladder: Ladder{
			Steps: []LadderStep{step(2, 10), step(0, 20)}, MaxInFlight: 2,
			Durations: map[model.Type]time.Duration{model.Runtime: 10 * time.Second},
		},
		Edges:     []Edge{hard("d->a"), hard("e->d")},
		Durations: map[string]time.Duration{"c": 25 * time.Second},
		Policy:    policy,
	}
}

func TestScheduleAndBound(t *testing.T) {
	tests := map[rollout.Policy]struct {
		schedule        string
		makespan, bound int
		critical        string
	}{
		// c begins the longest chain of the first step, then a, whose user is in
		// the second. Work of step one is 45 by two: 22.5 < 25, its longest.
		rollout.Phases: {"c 0-25 a 0-10 b 10-20 d 25-35 e 35-45", 45, 45, "c d e"},
		// a heads the chain a, d, e; 65 of work by two is 32.5. At 20 nothing
		// hangs on b or e, and b comes first in the order.
		rollout.Edges:  {"a 0-10 c 0-25 d 10-20 b 20-30 e 25-35", 35, 32, "a d e"},
		rollout.Serial: {"a 0-10 b 10-20 c 20-45 d 45-55 e 55-65", 65, 65, "a b c d e"},
	}
	for policy, tt := range tests {
		t.Run(string(policy), func(t *testing.T) {
			p := build(t, scheduled(policy))
			var spans []string
			for _, s := range p.Schedule {
				spans = append(spans, fmt.Sprintf("%s %.0f-%.0f", s.Component, s.Start.Seconds(), s.End.Seconds()))
			}
			if diff := cmp.Diff(tt.schedule, strings.Join(spans, " ")); diff != "" {
				t.Errorf("schedule (-want +got):\n%s", diff)
			}
			if got := int(p.Makespan.Seconds()); got != tt.makespan {
				t.Errorf("makespan %d, want %d", got, tt.makespan)
			}
			if got := int(p.Bound.Seconds()); got != tt.bound {
				t.Errorf("bound %d, want %d", got, tt.bound)
			}
			if diff := cmp.Diff(tt.critical, strings.Join(p.CriticalPath.Components, " ")); diff != "" {
				t.Errorf("critical path (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	all, err := Compare(scheduled(""))
	if err != nil {
		t.Fatal(err)
	}
	got := map[rollout.Policy]float64{}
	for _, c := range all {
		got[c.Policy] = c.Makespan.Seconds()
	}
	want := map[rollout.Policy]float64{rollout.Phases: 45, rollout.Edges: 35, rollout.Serial: 65}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBlastRadius(t *testing.T) {
	p := build(t, scheduled(rollout.Phases))
	if diff := cmp.Diff([]string{"d", "e"}, p.BlastRadius("a")); diff != "" {
		t.Errorf("blast radius (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "d"}, p.Dependencies("e")); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
	if got := p.BlastRadius("nobody"); got != nil {
		t.Errorf("blast radius of nobody: %v", got)
	}
}

func TestSpec(t *testing.T) {
	in := scheduled(rollout.Phases)
	two := 2
	in.Components[0].Timeout = 90 * time.Second
	in.Components[0].Retry = model.Retry{Limit: &two, Duration: 30 * time.Second, Factor: 3, MaxDuration: 10 * time.Minute}
	p := build(t, in)
	spec, err := p.Spec(SpecOptions{Revision: "r", Speed: 10, TimeoutFloor: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	want := rollout.Spec{
		Revision: "r", Policy: rollout.Phases, OnFailure: rollout.Halt,
		Steps: []rollout.StepSpec{{Label: "010", Phase: true, Limit: 2}, {Label: "020", Phase: true}},
	}
	components := spec.Components
	spec.Components = nil
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	// a hangs d and e on it, in the step after, after the longest of its own.
	wantA := rollout.ComponentSpec{
		Name: "a", Step: 0, Timeout: 20 * time.Second, Rank: 30 * time.Second,
		Retry: rollout.RetrySpec{Limit: 2, Duration: 3 * time.Second, Factor: 3, MaxDuration: time.Minute},
	}
	if diff := cmp.Diff(wantA, components[0]); diff != "" {
		t.Errorf("a (-want +got):\n%s", diff)
	}
	wantE := rollout.ComponentSpec{
		Name: "e", Step: 1, Requires: []string{"d"}, Timeout: time.Minute, Rank: 10 * time.Second,
		Retry: rollout.RetrySpec{Limit: 5, Duration: 500 * time.Millisecond, Factor: 2, MaxDuration: 18 * time.Second},
	}
	if diff := cmp.Diff(wantE, components[4]); diff != "" {
		t.Errorf("e (-want +got):\n%s", diff)
	}
}

// Under edges, b has no known requirement and waits for the first step, but not
// for x, which stands in an earlier step and requires it.
func TestFallBackDoesNotWaitForADependant(t *testing.T) {
	p := build(t, Input{
		Components: []model.Component{comp("ns", 10), comp("x", 20), comp("b", 30), comp("c", 30), comp("d", 30)},
		Ladder:     Ladder{Steps: []LadderStep{step(0, 10), step(0, 20), step(0, 30)}},
		Edges:      []Edge{hard("x->b"), hard("c->ns")},
		Policy:     rollout.Edges,
	})
	spec, err := p.Spec(SpecOptions{Revision: "r"})
	if err != nil {
		t.Fatal(err)
	}
	after := map[string]int{}
	for _, c := range spec.Components {
		after[c.Name] = c.After
	}
	want := map[string]int{"ns": 0, "x": 0, "b": 1, "c": 0, "d": 2}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := rollout.NewMachine(spec, time.Time{}); err != nil {
		t.Error(err)
	}
}

func TestSpecRefuses(t *testing.T) {
	cyclic := Input{
		Components: []model.Component{comp("a", 10), comp("b", 10)},
		Ladder:     Ladder{Steps: []LadderStep{step(0, 10)}},
		Edges:      []Edge{hard("b->a"), hard("a->b")},
		Policy:     rollout.Edges,
	}
	_, err := build(t, cyclic).Spec(SpecOptions{})
	var cycle *CycleError
	if !errors.As(err, &cycle) || cycle.Error() != "components require each other: a -> b -> a" {
		t.Errorf("cycle under edges: %v", err)
	}
	cyclic.Policy = rollout.Phases
	spec, err := build(t, cyclic).Spec(SpecOptions{})
	if err != nil || len(spec.Components[0].Requires)+len(spec.Components[1].Requires) > 0 {
		t.Errorf("cycle under phases: %v, %v", spec.Components, err)
	}
	cyclic.Components = append(cyclic.Components, comp("lost", 99))
	_, err = build(t, cyclic).Spec(SpecOptions{})
	var place *PlaceError
	if !errors.As(err, &place) || place.Error() != "no step of the ladder matches lost; ladder lint says of each what to do" {
		t.Errorf("component without a step: %v", err)
	}
}

func TestBuildRefuses(t *testing.T) {
	twice := []model.Component{comp("a", 10), comp("a", 20)}
	if _, err := Build(Input{Components: twice, Policy: rollout.Phases}); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("two of one name: %v", err)
	}
	if _, err := Build(Input{Policy: "luck"}); err == nil || !strings.Contains(err.Error(), "luck") {
		t.Errorf("unknown policy: %v", err)
	}
	if p := build(t, Input{}); p.Makespan != 0 || len(p.Order) != 0 {
		t.Errorf("plan of nothing: %+v", p)
	}
}

func TestInventory(t *testing.T) {
	off := comp("b-off", 110)
	off.Enabled = false
	in := Input{
		Environment: "dev",
		Components:  []model.Component{comp("c", 120), comp("lost", 700), off, comp("a", 110)},
		Ladder: Ladder{Steps: []LadderStep{
			step(2, 10), {Phases: []model.Phase{110, 120}, About: About{Gate: "CRDs are served."}},
		}},
		Edges:  []Edge{hard("c->b-off"), hard("c->a"), soft("c->a")},
		Policy: rollout.Phases,
	}
	p, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := TakeInventory(p, in, in.Edges)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range inv.Phases {
		for _, m := range g.Members {
			got = append(got, fmt.Sprintf("%s step %d %q: %s %v %v", g.Label, g.Step, g.Gate, m.Name, m.Enabled, m.Requires))
		}
	}
	want := []string{
		`110 step 2 "CRDs are served.": a true []`,
		`110 step 2 "CRDs are served.": b-off false []`,
		`120 step 2 "CRDs are served.": c true [a b-off]`,
		`700 step 0 "": lost true []`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(inv.Steps) != 2 || inv.Steps[0].MaxUpdate != "2" {
		t.Errorf("steps: %+v", inv.Steps)
	}
}

// What is to be removed gets the defaults of the ladder; a plan of nothing
// removes nothing.
func TestRemovals(t *testing.T) {
	in := scheduled(rollout.Phases)
	in.Ladder.Timeout = 20 * time.Minute
	vanished := []rollout.RemovalSpec{{Name: "old"}, {Name: "older", Requires: []string{"old"}, EdgesKnown: true}}
	got := build(t, in).Removals(vanished, SpecOptions{Speed: 10, MaxTimeouts: 1})
	retry := rollout.RetrySpec{Limit: 5, Duration: 500 * time.Millisecond, Factor: 2, MaxDuration: 18 * time.Second, MaxTimeouts: 1}
	want := []rollout.RemovalSpec{
		{Name: "old", Timeout: 2 * time.Minute, Retry: retry},
		{Name: "older", Requires: []string{"old"}, EdgesKnown: true, Timeout: 2 * time.Minute, Retry: retry},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := build(t, Input{}).Removals(vanished, SpecOptions{}); got != nil {
		t.Errorf("an empty plan removes %v", got)
	}
}

// TestSpecNotKept: a rollout knows which requirements its order does not keep.
func TestSpecNotKept(t *testing.T) {
	in := Input{
		Components: []model.Component{comp("a", 10), comp("b", 20)},
		Ladder:     Ladder{Steps: []LadderStep{step(0, 10), step(0, 20)}},
		Edges:      []Edge{hard("a->b")},
	}
	for policy, want := range map[rollout.Policy][]rollout.Requirement{
		rollout.Phases: {{From: "a", To: "b"}}, rollout.Serial: {{From: "a", To: "b"}}, rollout.Edges: nil,
	} {
		in.Policy = policy
		spec, err := build(t, in).Spec(SpecOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, spec.NotKept); diff != "" {
			t.Errorf("%s (-want +got):\n%s", policy, diff)
		}
	}
}
