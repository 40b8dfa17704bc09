package plan

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

func drawInput(t *rapid.T) Input {
	n := rapid.IntRange(0, 15).Draw(t, "components")
	steps := rapid.IntRange(1, 5).Draw(t, "steps")
	in := Input{
		Policy:    rapid.SampledFrom(rollout.Policies()).Draw(t, "policy"),
		Durations: map[string]time.Duration{},
		Ladder:    Ladder{MaxInFlight: rapid.IntRange(0, 3).Draw(t, "cap")},
	}
	for k := range steps {
		in.Ladder.Steps = append(in.Ladder.Steps, step(rapid.IntRange(0, 3).Draw(t, "limit"), model.Phase(k)))
	}
	for i := range n {
		c := comp(fmt.Sprintf("c%02d", i), model.Phase(rapid.IntRange(0, steps-1).Draw(t, "phase")))
		in.Components = append(in.Components, c)
		in.Durations[c.Name] = time.Duration(rapid.IntRange(0, 4).Draw(t, "seconds")) * time.Second
	}
	if n > 1 {
		name := rapid.Custom(func(t *rapid.T) string {
			return in.Components[rapid.IntRange(0, n-1).Draw(t, "end")].Name
		})
		in.Edges = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Edge {
			return Edge{
				From: name.Draw(t, "from"), To: name.Draw(t, "to"),
				Strength: rapid.SampledFrom([]Strength{Hard, Soft, Soft}).Draw(t, "strength"),
			}
		}), 0, 25).Draw(t, "edges")
	}
	return in
}

// TestScheduleIsWhatTheStateMachineDoes runs the state machine with the expected
// durations: it starts what the plan says, when the plan says.
func TestScheduleIsWhatTheStateMachineDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		p, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := p.Spec(SpecOptions{Revision: "r"})
		if err != nil {
			if in.Policy == rollout.Edges && len(p.Cycles) > 0 {
				return
			}
			t.Fatal(err)
		}
		if diff := cmp.Diff(p.Schedule, play(t, spec, p), cmp.Transformer("nil", func(s []Span) []Span { return append([]Span{}, s...) })); diff != "" {
			t.Fatalf("schedule (-plan +state machine):\n%s", diff)
		}
		if p.Makespan < p.Bound || p.Makespan < p.CriticalPath.Duration {
			t.Fatalf("makespan %s, bound %s, critical path %s", p.Makespan, p.Bound, p.CriticalPath.Duration)
		}
	})
}

// play runs a rollout in which nothing goes wrong.
func play(t *rapid.T, spec rollout.Spec, p *Plan) []Span {
	epoch := time.Unix(0, 0)
	m, err := rollout.NewMachine(spec, epoch)
	if err != nil {
		t.Fatal(err)
	}
	var spans []Span
	var running heapOf[end]
	var carryOut func(effects []rollout.Effect, now time.Duration)
	carryOut = func(effects []rollout.Effect, now time.Duration) {
		for _, effect := range effects {
			sync, ok := effect.(rollout.Sync)
			if !ok {
				continue
			}
			span := Span{Component: sync.Component, Start: now, End: now + p.Expected(sync.Component)}
			spans = append(spans, span)
			turn := slices.Index(p.Order, sync.Component)
			heap.Push(&running, end{at: span.End, i: turn, turn: turn})
			carryOut(m.Step(rollout.SyncFinished{Component: sync.Component, Attempt: sync.Attempt}, epoch.Add(now)).Effects, now)
		}
	}
	carryOut(m.Step(rollout.Started{}, epoch).Effects, 0)
	for len(running) > 0 {
		e := heap.Pop(&running).(end)
		healthy := rollout.Observed{Component: p.Order[e.i], Health: rollout.Healthy, Revision: "r"}
		carryOut(m.Step(healthy, epoch.Add(e.at)).Effects, e.at)
	}
	if m.Result() != rollout.Succeeded {
		t.Fatalf("the rollout ends %q", m.Result())
	}
	return spans
}

// TestDroppingSoftEdgesLeavesOnlyHardCycles: what is kept has no cycle that a
// soft edge takes part in, and nothing is dropped without need.
func TestDroppingSoftEdgesLeavesOnlyHardCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		p, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		isHard := map[string]bool{}
		reaches := map[string]map[string]bool{}
		for _, c := range p.Order {
			reaches[c] = map[string]bool{}
		}
		for _, e := range p.Edges {
			reaches[e.From][e.To] = true
			if e.Strength == Hard {
				isHard[e.From+" "+e.To] = true
			}
		}
		for _, k := range p.Order {
			for _, i := range p.Order {
				for _, j := range p.Order {
					if reaches[i][k] && reaches[k][j] {
						reaches[i][j] = true
					}
				}
			}
		}
		for _, cycle := range p.Cycles {
			for k, name := range cycle[1:] {
				if !isHard[cycle[k]+" "+name] {
					t.Fatalf("cycle %v holds the soft edge %s -> %s", cycle, cycle[k], name)
				}
			}
		}
		for _, e := range p.Dropped {
			if e.Strength != Soft || !reaches[e.To][e.From] {
				t.Fatalf("%s -> %s was dropped without need", e.From, e.To)
			}
		}
	})
}

func TestTheSameInputGivesTheSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		first, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Components = rapid.Permutation(in.Components).Draw(t, "components shuffled")
		in.Edges = rapid.Permutation(in.Edges).Draw(t, "edges shuffled")
		again, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		first.graph, again.graph = nil, nil
		if diff := cmp.Diff(fmt.Sprintf("%+v", first), fmt.Sprintf("%+v", again)); diff != "" {
			t.Fatalf("(-first +again):\n%s", diff)
		}
	})
}

// platform is a large input: n components in 44 steps, five edges each.
func platform(n int) Input {
	r := rand.New(rand.NewPCG(1, 2))
	in := Input{Policy: rollout.Edges, Ladder: Ladder{MaxInFlight: 20}}
	for k := range 44 {
		in.Ladder.Steps = append(in.Ladder.Steps, step(6, model.Phase(k*20)))
	}
	for i := range n {
		c := comp(fmt.Sprintf("component-%05d", i), model.Phase(i*44/n*20))
		c.Type = model.Types()[i%8]
		in.Components = append(in.Components, c)
		for k := 0; k < 5 && i > 0; k++ {
			in.Edges = append(in.Edges, Edge{
				From: c.Name, To: in.Components[r.IntN(i)].Name, Strength: []Strength{Hard, Soft}[k%2],
			})
		}
	}
	return in
}

// kahn orders names by Kahn's algorithm and does nothing else: the least that a
// planner can cost.
func kahn(in Input) []string {
	missing := make(map[string]int, len(in.Components))
	dependants := make(map[string][]string, len(in.Components))
	for _, e := range in.Edges {
		missing[e.From]++
		dependants[e.To] = append(dependants[e.To], e.From)
	}
	order := make([]string, 0, len(in.Components))
	for _, c := range in.Components {
		if missing[c.Name] == 0 {
			order = append(order, c.Name)
		}
	}
	for k := 0; k < len(order); k++ {
		for _, d := range dependants[order[k]] {
			if missing[d]--; missing[d] == 0 {
				order = append(order, d)
			}
		}
	}
	return order
}

// BenchmarkPlan measures whole plans next to a plain topological sort by name of
// the same graph: 10,000 components with 50,000 edges, and a tenth of it.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		in := platform(n)
		b.Run(fmt.Sprintf("kahn/%d", n), func(b *testing.B) {
			for b.Loop() {
				if len(kahn(in)) != n {
					b.Fatal("not ordered")
				}
			}
		})
		for _, policy := range rollout.Policies() {
			in.Policy = policy
			b.Run(fmt.Sprintf("%s/%d", policy, n), func(b *testing.B) {
				for b.Loop() {
					if p, err := Build(in); err != nil || len(p.Order) != n {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
