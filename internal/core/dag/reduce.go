package dag

import (
	"cmp"
	"slices"
)

// Reduction leaves out every edge that a longer chain of edges implies. What is
// reachable stays the same. A graph with a cycle is returned as it is.
//
// Source: A. V. Aho, M. R. Garey, J. D. Ullman, "The Transitive Reduction of a
// Directed Graph" (1972); it is unique for a graph without cycle.
func (g *Graph) Reduction() *Graph {
	order, ok := g.Order()
	if !ok {
		return g
	}
	n := g.Len()
	words := (n + 63) / 64
	turn := make([]int32, n)
	for k, i := range order {
		turn[i] = int32(k)
	}
	// reach[i] is the set of what i requires, directly or not. Only sets that a
	// later node still needs are kept.
	reach := make([][]uint64, n)
	unread := make([]int, n)
	for i := range n {
		unread[i] = len(g.Dependants(i))
	}
	var kept []Edge
	for _, i := range order {
		set := make([]uint64, words)
		// The latest first: what it reaches makes edges to earlier ones needless.
		requires := latestFirst(g.Requires(i), turn)
		for _, j := range requires {
			if set[j/64]>>(j%64)&1 == 0 {
				kept = append(kept, Edge{From: i, To: int(j)})
				set[j/64] |= 1 << (j % 64)
				for w, bits := range reach[j] {
					set[w] |= bits
				}
			}
			if unread[j]--; unread[j] == 0 {
				reach[j] = nil
			}
		}
		if unread[i] > 0 {
			reach[i] = set
		}
	}
	return New(n, kept)
}

func latestFirst(nodes, turn []int32) []int32 {
	sorted := slices.Clone(nodes)
	slices.SortFunc(sorted, func(a, b int32) int { return cmp.Compare(turn[b], turn[a]) })
	return sorted
}
