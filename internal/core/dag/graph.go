package dag

import "slices"

// Edge says that From requires To.
type Edge struct{ From, To int }

// Graph is a directed graph that does not change. Parallel edges count once; an
// edge from a node to itself is a cycle of one.
type Graph struct {
	out, in rows
}

// rows is an adjacency list in one piece: the neighbours of node i, ascending,
// are flat[start[i]:start[i+1]].
type rows struct {
	start []int32
	flat  []int32
}

func (r rows) of(i int) []int32 { return r.flat[r.start[i]:r.start[i+1]] }

// New makes a graph of n nodes. It panics on an edge that leaves 0 to n-1, as an
// index into a slice does.
func New(n int, edges []Edge) *Graph {
	// Two counting sorts, by To and then by From, leave both lists ascending.
	in := gather(n, len(edges), func(yield func(row, value int)) {
		for _, e := range edges {
			yield(e.To, e.From)
		}
	})
	out := gather(n, len(in.flat), func(yield func(row, value int)) {
		for to := range n {
			for _, from := range in.of(to) {
				yield(int(from), to)
			}
		}
	})
	out = out.compact()
	in = gather(n, len(out.flat), func(yield func(row, value int)) {
		for from := range n {
			for _, to := range out.of(from) {
				yield(int(to), from)
			}
		}
	})
	return &Graph{out: out, in: in}
}

// gather sorts pairs into rows; within a row they keep the order they came in.
func gather(n, pairs int, each func(yield func(row, value int))) rows {
	r := rows{start: make([]int32, n+1), flat: make([]int32, pairs)}
	each(func(row, _ int) { r.start[row+1]++ })
	for i := range n {
		r.start[i+1] += r.start[i]
	}
	next := slices.Clone(r.start[:n])
	each(func(row, value int) {
		r.flat[next[row]] = int32(value)
		next[row]++
	})
	return r
}

// compact drops repeated neighbours from ascending rows.
func (r rows) compact() rows {
	n := len(r.start) - 1
	w, read := int32(0), int32(0)
	for i := range n {
		end := r.start[i+1]
		r.start[i] = w
		for ; read < end; read++ {
			if w == r.start[i] || r.flat[w-1] != r.flat[read] {
				r.flat[w] = r.flat[read]
				w++
			}
		}
	}
	r.start[n] = w
	r.flat = r.flat[:w]
	return r
}

// inside leaves only the neighbours of the same group.
func (r rows) inside(group []int) rows {
	some := rows{start: make([]int32, 1, len(r.start)), flat: make([]int32, 0, len(r.flat))}
	for i := range len(r.start) - 1 {
		for _, j := range r.of(i) {
			if group[i] == group[j] {
				some.flat = append(some.flat, j)
			}
		}
		some.start = append(some.start, int32(len(some.flat)))
	}
	return some
}

// Len is the number of nodes.
func (g *Graph) Len() int { return len(g.out.start) - 1 }

// Requires lists the direct requirements of a node, ascending. The caller does
// not change the slice.
func (g *Graph) Requires(i int) []int32 { return g.out.of(i) }

// Dependants lists the nodes that require a node directly, ascending. The caller
// does not change the slice.
func (g *Graph) Dependants(i int) []int32 { return g.in.of(i) }

// AllRequires lists everything a node requires, directly or not, ascending and
// without the node itself unless it is on a cycle.
func (g *Graph) AllRequires(i int) []int { return reach(g.out, i) }

// AllDependants lists everything that requires a node, directly or not,
// ascending and without the node itself unless it is on a cycle.
func (g *Graph) AllDependants(i int) []int { return reach(g.in, i) }

func reach(r rows, from int) []int {
	seen := make([]bool, len(r.start)-1)
	var found []int
	stack := []int32{int32(from)}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, j := range r.of(int(i)) {
			if !seen[j] {
				seen[j] = true
				found = append(found, int(j))
				stack = append(stack, j)
			}
		}
	}
	slices.Sort(found)
	return found
}
