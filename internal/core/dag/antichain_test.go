package dag

import (
	"testing"

	"pgregory.net/rapid"
)

// TestAntichainIsGreatest compares with all subsets.
func TestAntichainIsGreatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "n")
		less := make([][]bool, n)
		weight := make([]int64, n)
		for i := range n {
			less[i] = make([]bool, n)
			weight[i] = int64(rapid.IntRange(1, 5).Draw(t, "weight"))
			for j := range i {
				less[i][j] = rapid.IntRange(0, 2).Draw(t, "edge") == 0
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					less[i][j] = less[i][j] || less[i][k] && less[k][j]
				}
			}
		}
		var edges []Edge
		for i := range n {
			for j := range n {
				if less[i][j] {
					edges = append(edges, Edge{From: i, To: j})
				}
			}
		}
		weigh := func(in func(i int) bool) (total int64, ok bool) {
			for i := range n {
				if !in(i) {
					continue
				}
				total += weight[i]
				for j := range n {
					if in(j) && less[i][j] {
						return 0, false
					}
				}
			}
			return total, true
		}
		var best int64
		for set := range 1 << n {
			if total, ok := weigh(func(i int) bool { return set>>i&1 == 1 }); ok {
				best = max(best, total)
			}
		}
		chosen := New(n, edges).Antichain(weight)
		got, ok := weigh(func(i int) bool { return chosen[i] })
		if !ok || got != best {
			t.Fatalf("chose %v of weight %d (antichain: %v), want weight %d; edges %v, weights %v", chosen, got, ok, best, edges, weight)
		}
	})
}
