package dag

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestReductionKeepsReachAndNoEdgeTooMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 80).Draw(t, "n")
		var edges []Edge
		if n > 1 {
			for range rapid.IntRange(0, 3*n).Draw(t, "edges") {
				i, j := rapid.IntRange(0, n-1).Draw(t, "i"), rapid.IntRange(0, n-1).Draw(t, "j")
				if i != j {
					edges = append(edges, Edge{From: max(i, j), To: min(i, j)})
				}
			}
		}
		g := New(n, edges)
		r := g.Reduction()
		for i := range n {
			if !slices.Equal(g.AllRequires(i), r.AllRequires(i)) {
				t.Fatalf("node %d reaches %v, after the reduction %v", i, g.AllRequires(i), r.AllRequires(i))
			}
			for _, j := range r.Requires(i) {
				if !slices.Contains(g.Requires(i), j) {
					t.Fatalf("edge %d to %d was not there", i, j)
				}
				for _, k := range r.Requires(i) {
					if k != j && slices.Contains(r.AllRequires(int(k)), int(j)) {
						t.Fatalf("edge %d to %d is implied by %d", i, j, k)
					}
				}
			}
		}
	})
}
