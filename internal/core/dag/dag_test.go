package dag

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestOrder(t *testing.T) {
	tests := map[string]struct {
		nodes int
		edges []Edge
		want  []int
		ok    bool
	}{
		"no edges keep the numbers":     {3, nil, []int{0, 1, 2}, true},
		"a requirement comes first":     {3, []Edge{{0, 2}}, []int{1, 2, 0}, true},
		"least number among the ready":  {5, []Edge{{0, 4}, {1, 3}}, []int{2, 3, 1, 4, 0}, true},
		"parallel edges count once":     {2, []Edge{{0, 1}, {0, 1}}, []int{1, 0}, true},
		"a cycle and its user drop out": {4, []Edge{{0, 1}, {1, 0}, {2, 1}}, []int{3}, false},
		"nothing":                       {0, nil, []int{}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := New(tt.nodes, tt.edges).Order()
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
				t.Errorf("Order() ok = %v, want %v; (-want +got):\n%s", ok, tt.ok, diff)
			}
		})
	}
}

func TestCycles(t *testing.T) {
	tests := map[string]struct {
		nodes int
		edges []Edge
		want  [][]int
	}{
		"none":                       {3, []Edge{{0, 1}, {1, 2}, {0, 2}}, nil},
		"one, from its least node":   {4, []Edge{{3, 1}, {1, 2}, {2, 3}, {0, 3}}, [][]int{{1, 2, 3, 1}}},
		"a node requires itself":     {2, []Edge{{1, 1}}, [][]int{{1, 1}}},
		"two that share a node":      {3, []Edge{{0, 1}, {1, 0}, {1, 2}, {2, 1}}, [][]int{{0, 1, 0}, {1, 2, 1}}},
		"two apart":                  {4, []Edge{{2, 3}, {3, 2}, {0, 1}, {1, 0}, {0, 2}}, [][]int{{0, 1, 0}, {2, 3, 2}}},
		"all of a large one is said": {4, []Edge{{0, 1}, {1, 0}, {1, 2}, {2, 3}, {3, 0}}, [][]int{{0, 1, 0}, {0, 1, 2, 3, 0}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, New(tt.nodes, tt.edges).Cycles()); diff != "" {
				t.Errorf("Cycles() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongest(t *testing.T) {
	// 3 -> 1 -> 0 weighs 1+5+2, 3 -> 2 -> 0 weighs 1+5+2 too: the lesser wins.
	g := New(4, []Edge{{1, 0}, {2, 0}, {3, 1}, {3, 2}})
	path, total, ok := g.Longest([]int64{1, 5, 5, 2})
	if diff := cmp.Diff([]int{0, 1, 3}, path); diff != "" || total != 8 || !ok {
		t.Errorf("Longest() = %d, %v (-want +got):\n%s", total, ok, diff)
	}
	if _, _, ok := New(1, []Edge{{0, 0}}).Longest([]int64{1}); ok {
		t.Error("Longest() of a cycle is ok")
	}
}

func TestLayers(t *testing.T) {
	layer, ok := New(4, []Edge{{3, 1}, {1, 0}, {3, 0}}).Layers()
	if diff := cmp.Diff([]int{0, 1, 0, 2}, layer); diff != "" || !ok {
		t.Errorf("Layers() ok = %v (-want +got):\n%s", ok, diff)
	}
}

func TestReach(t *testing.T) {
	g := New(5, []Edge{{0, 1}, {1, 2}, {3, 1}})
	if diff := cmp.Diff([]int{1, 2}, g.AllRequires(0)); diff != "" {
		t.Errorf("AllRequires (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 1, 3}, g.AllDependants(2)); diff != "" {
		t.Errorf("AllDependants (-want +got):\n%s", diff)
	}
}

// drawGraph draws up to 12 nodes and any edges between them.
func drawGraph(t *rapid.T) (int, []Edge) {
	n := rapid.IntRange(1, 12).Draw(t, "nodes")
	node := rapid.IntRange(0, n-1)
	edges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Edge {
		return Edge{From: node.Draw(t, "from"), To: node.Draw(t, "to")}
	}), 0, 30).Draw(t, "edges")
	return n, edges
}

// closure is the transitive closure, the slow and certain way.
func closure(n int, edges []Edge) [][]bool {
	c := make([][]bool, n)
	for i := range c {
		c[i] = make([]bool, n)
	}
	for _, e := range edges {
		c[e.From][e.To] = true
	}
	for k := range n {
		for i := range n {
			for j := range n {
				c[i][j] = c[i][j] || c[i][k] && c[k][j]
			}
		}
	}
	return c
}

func TestAgainstClosure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, edges := drawGraph(t)
		g := New(n, edges)
		c := closure(n, edges)
		component, _ := g.Components()
		onCycle := make([]bool, n)
		for _, cycle := range g.Cycles() {
			if cycle[0] != slices.Min(cycle) || cycle[0] != cycle[len(cycle)-1] {
				t.Fatalf("cycle %v does not begin and end with its least node", cycle)
			}
			if want := shortest(n, edges, cycle); len(cycle)-1 != want {
				t.Fatalf("cycle %v: none of its nodes has it for a shortest, one has %d", cycle, want)
			}
			for k, i := range cycle[1:] {
				if !slices.Contains(edges, Edge{From: cycle[k], To: i}) {
					t.Fatalf("cycle %v: %d -> %d is no edge", cycle, cycle[k], i)
				}
				onCycle[i] = true
			}
		}
		acyclic := true
		for i := range n {
			if c[i][i] != onCycle[i] {
				t.Fatalf("node %d on a cycle: %v, named %v", i, c[i][i], onCycle[i])
			}
			acyclic = acyclic && !c[i][i]
			for j := range n {
				if i != j && (c[i][j] && c[j][i]) != (component[i] == component[j]) {
					t.Fatalf("nodes %d and %d: components %v", i, j, component)
				}
			}
			var requires []int
			for j := range n {
				if c[i][j] {
					requires = append(requires, j)
				}
			}
			if diff := cmp.Diff(requires, g.AllRequires(i)); diff != "" {
				t.Fatalf("AllRequires(%d) (-want +got):\n%s", i, diff)
			}
		}
		order, ok := g.Order()
		if ok != acyclic {
			t.Fatalf("Order() ok = %v, acyclic %v", ok, acyclic)
		}
		place := make(map[int]int)
		for k, i := range order {
			place[i] = k
		}
		for _, e := range edges {
			if from, ok := place[e.From]; ok && from <= place[e.To] {
				t.Fatalf("order %v breaks %v", order, e)
			}
		}
	})
}

func TestOrderIgnoresTheOrderOfEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, edges := drawGraph(t)
		want, _ := New(n, edges).Order()
		got, _ := New(n, rapid.Permutation(edges).Draw(t, "shuffled")).Order()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestBuilderRefusesExactlyWhatClosesACycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, edges := drawGraph(t)
		b, ok := NewBuilder(New(n, nil))
		if !ok {
			t.Fatal("a graph without edges has a cycle")
		}
		var kept []Edge
		for _, e := range edges {
			closes := e.From == e.To || closure(n, kept)[e.To][e.From]
			if b.Add(e) == closes {
				t.Fatalf("Add(%v) after %v: closes a cycle %v", e, kept, closes)
			}
			if !closes {
				kept = append(kept, e)
			}
		}
	})
}

// random is a graph of n nodes where every node requires up to degree others of
// lesser number.
func random(n, degree int) []Edge {
	r := rand.New(rand.NewPCG(1, 2))
	var edges []Edge
	for i := 1; i < n; i++ {
		for range degree {
			edges = append(edges, Edge{From: i, To: r.IntN(i)})
		}
	}
	return edges
}

func TestDeepChainDoesNotOverflow(t *testing.T) {
	const n = 200_000
	edges := make([]Edge, 0, n)
	for i := range n - 1 {
		edges = append(edges, Edge{From: i, To: i + 1})
	}
	edges = append(edges, Edge{From: n - 1, To: 0})
	cycles := New(n, edges).Cycles()
	if len(cycles) != 1 || len(cycles[0]) != n+1 {
		t.Fatalf("%d cycles", len(cycles))
	}
}

func BenchmarkNewOrderCycles(b *testing.B) {
	edges := random(10_000, 5)
	for b.Loop() {
		g := New(10_000, edges)
		if _, ok := g.Order(); !ok || g.Cycles() != nil {
			b.Fatal("cycle")
		}
	}
}

// shortest is the length of the longest of the shortest cycles through the nodes of
// a cycle: that which the cycle was found for.
func shortest(n int, edges []Edge, cycle []int) int {
	far := make([][]int, n) // the shortest ways of one edge or more
	for i := range far {
		far[i] = make([]int, n)
		for j := range far[i] {
			far[i][j] = n + 1
		}
	}
	for _, e := range edges {
		far[e.From][e.To] = 1
	}
	for k := range n {
		for i := range n {
			for j := range n {
				far[i][j] = min(far[i][j], far[i][k]+far[k][j])
			}
		}
	}
	longest := 0
	for _, i := range cycle {
		longest = max(longest, far[i][i])
	}
	return longest
}
