package plan

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// phased makes an enabled component of a phase.
func phased(name string, phase model.Phase, domain string, t model.Type) model.Component {
	return model.Component{Name: name, Phase: phase, Domain: domain, Type: t, Enabled: true}
}

// writtenStep makes a step of a ladder file.
func writtenStep(phase model.Phase) LadderStep {
	return LadderStep{Phases: []model.Phase{phase}, Position: finding.Position{File: "ladder.yaml", Line: 1}}
}

func TestSuggest(t *testing.T) {
	bands := []Band{{Name: "foundation", From: 100, To: 199}, {Name: "data", From: 200, To: 299}}
	slots := []Slot{
		{Offset: 10, Types: []model.Type{model.CRDs}, MaxUpdate: MaxUpdate{Count: 3, Set: true}},
		{Offset: 30, Types: []model.Type{model.Secrets}},
		{Offset: 50, Types: []model.Type{model.Runtime}},
		{Offset: 55, Types: []model.Type{model.Bootstrap}},
	}
	hard := func(from, to string) Edge { return Edge{From: from, To: to, Strength: Hard} }
	cases := map[string]struct {
		components []model.Component
		steps      []LadderStep
		edges      []Edge
		want       []string // "name from>to"
		stuck      []string
	}{
		"a ladder that is right stays": {
			components: []model.Component{phased("crds", 110, "foundation", model.CRDs), phased("app", 250, "data", model.Runtime)},
			edges:      []Edge{hard("app", "crds")},
		},
		"a secret that comes before its store moves after it, into a slot of its type": {
			components: []model.Component{
				phased("store", 150, "foundation", model.Runtime), phased("secret", 130, "foundation", model.Secrets),
				phased("app", 250, "data", model.Runtime),
			},
			edges: []Edge{hard("secret", "store"), hard("app", "secret")},
			want:  []string{"secret 130>155"},
		},
		"one CRD package moves rather than its three users": {
			components: []model.Component{
				phased("a", 150, "foundation", model.Runtime), phased("b", 150, "foundation", model.Runtime),
				phased("c", 150, "foundation", model.Runtime), phased("crds", 210, "foundation", model.CRDs),
			},
			edges: []Edge{hard("a", "crds"), hard("b", "crds"), hard("c", "crds")},
			want:  []string{"crds 210>110"},
		},
		"one step is too early for both": {
			components: []model.Component{phased("db", 250, "data", model.Runtime), phased("seed", 250, "data", model.Bootstrap)},
			edges:      []Edge{hard("seed", "db")},
			want:       []string{"seed 250>255"},
		},
		"a step that exists is preferred inside the slot": {
			components: []model.Component{phased("db", 250, "data", model.Runtime), phased("late", 240, "data", model.Config)},
			steps:      []LadderStep{writtenStep(240), writtenStep(250), writtenStep(260)},
			edges:      []Edge{hard("late", "db")},
			want:       []string{"late 240>260"},
		},
		"a cycle is stuck": {
			components: []model.Component{phased("a", 150, "foundation", model.Runtime), phased("b", 150, "foundation", model.Runtime)},
			edges:      []Edge{hard("a", "b"), hard("b", "a")},
			stuck:      []string{"a->b: the two require each other", "b->a: the two require each other"},
		},
		"sync waves of one parent move, those of two parents are stuck": {
			components: []model.Component{
				{Name: "crds", Waves: []int{5}, Phase: model.NoPhase, Enabled: true}, {Name: "user", Waves: []int{3}, Phase: model.NoPhase, Enabled: true},
				{Name: "x", Waves: []int{6, 0}, Phase: model.NoPhase, Enabled: true}, {Name: "y", Waves: []int{7, 0}, Phase: model.NoPhase, Enabled: true},
			},
			edges: []Edge{hard("user", "crds"), hard("x", "y")},
			want:  []string{"user 3>6"},
			stuck: []string{"x->y: the two have different parents, whose order decides"},
		},
		"what commands apply one by one is stuck, and moves beside what they do not": {
			components: []model.Component{
				{Name: "crds", Object: true, ByHand: true, Phase: model.NoPhase, Enabled: true}, {Name: "user", Object: true, ByHand: true, Phase: model.NoPhase, Enabled: true},
				{Name: "other", Object: true, Phase: model.NoPhase, Enabled: true},
			},
			edges: []Edge{hard("user", "crds"), hard("other", "crds")},
			want:  []string{"other >1"},
			stuck: []string{"user->crds: kubectl applies both, and heeds no sync waves; have one Application apply them"},
		},
		"nothing goes below phase 0": {
			components: []model.Component{phased("a", 0, "", model.Runtime), phased("b", 0, "", model.Runtime), phased("c", 0, "", model.Runtime)},
			edges:      []Edge{hard("c", "b"), hard("b", "a")},
			want:       []string{"b 000>050", "c 000>150"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := Suggest(Input{Components: tc.components, Edges: tc.edges, Ladder: Ladder{Bands: bands, Slots: slots, Steps: tc.steps}, Policy: rollout.Phases})
			if err != nil {
				t.Fatal(err)
			}
			var moves, stuck []string
			for _, m := range s.Moves {
				moves = append(moves, fmt.Sprintf("%s %s>%s", m.Component, m.From, m.To))
				if len(m.Because) == 0 {
					t.Errorf("%s moves without a reason", m.Component)
				}
			}
			for _, e := range s.Stuck {
				stuck = append(stuck, e.Edge.From+"->"+e.Edge.To+": "+e.Why)
			}
			if diff := cmp.Diff(tc.want, moves); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.stuck, stuck); diff != "" {
				t.Errorf("stuck (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSuggestionIsValidAndLeast: every hard edge is kept or stuck, and no
// smaller set of moves would do.
func TestSuggestionIsValidAndLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		var in Input
		for i := range n {
			phase := model.Phase(rapid.IntRange(100, 105).Draw(t, "phase"))
			in.Components = append(in.Components, phased(fmt.Sprintf("c%d", i), phase, "foundation", model.Runtime))
		}
		for i := range n {
			for j := range i {
				if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
					in.Edges = append(in.Edges, Edge{From: in.Components[i].Name, To: in.Components[j].Name, Strength: Hard})
				}
			}
		}
		s, err := Suggest(in)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Stuck) > 0 {
			t.Fatalf("stuck without a cycle: %v", s.Stuck)
		}
		step := map[string]int{}
		for _, st := range s.After.Steps {
			for _, c := range st.Components {
				step[c] = st.Index
			}
		}
		for _, e := range in.Edges {
			if step[e.To] >= step[e.From] {
				t.Fatalf("%s requires %s; steps %d and %d", e.From, e.To, step[e.From], step[e.To])
			}
		}
		if least := leastMoves(in); len(s.Moves) != least {
			t.Fatalf("%d moves, %d would do: %+v of %+v", len(s.Moves), least, s.Moves, in)
		}
		shuffled := in
		shuffled.Components = rapid.Permutation(in.Components).Draw(t, "shuffled")
		shuffled.Edges = rapid.Permutation(in.Edges).Draw(t, "shuffled edges")
		again, err := Suggest(shuffled)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.Moves, again.Moves); diff != "" {
			t.Fatalf("the order of the input matters:\n%s", diff)
		}
	})
}

// leastMoves tries all sets of components that stay. The others fit between them
// if every chain of requirements between two that stay has room: phases 0 to 99
// and 106 to 999 are free.
func leastMoves(in Input) int {
	n := len(in.Components)
	chain := make([][]int, n)
	for i := range n {
		chain[i] = make([]int, n)
	}
	index := map[string]int{}
	for i, c := range in.Components {
		index[c.Name] = i
	}
	edges := slices.Clone(in.Edges)
	slices.SortFunc(edges, func(a, b Edge) int { return index[a.From] - index[b.From] })
	for _, e := range edges { // providers have lesser numbers
		from, to := index[e.From], index[e.To]
		chain[from][to] = max(chain[from][to], 1)
		for k := range n {
			if chain[to][k] > 0 {
				chain[from][k] = max(chain[from][k], chain[to][k]+1)
			}
		}
	}
	least := n
	for stay := range uint(1) << n {
		ok := true
		for i := range n {
			for j := range n {
				if stay>>i&1 == 1 && stay>>j&1 == 1 && chain[i][j] > 0 {
					ok = ok && int(in.Components[i].Phase)-int(in.Components[j].Phase) >= chain[i][j]
				}
			}
		}
		if ok {
			least = min(least, n-bits.OnesCount(stay))
		}
	}
	return least
}
