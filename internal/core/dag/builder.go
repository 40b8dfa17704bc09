package dag

import "slices"

// Builder grows a graph that stays free of cycles: Add refuses the edge that
// would close one. It keeps a topological order and repairs only the part of it
// between the two ends of a new edge (Pearce and Kelly, "A dynamic topological
// sort algorithm for directed acyclic graphs", 2007).
type Builder struct {
	out, in [][]int32
	place   []int32 // position of a node in the order: requirements first
	seen    []bool  // scratch
}

// NewBuilder starts from a graph without cycles. ok is false for one with a
// cycle.
func NewBuilder(g *Graph) (b *Builder, ok bool) {
	order, ok := g.Order()
	if !ok {
		return nil, false
	}
	n := g.Len()
	b = &Builder{
		out: make([][]int32, n), in: make([][]int32, n),
		place: make([]int32, n), seen: make([]bool, n),
	}
	for k, i := range order {
		b.place[i] = int32(k)
		// Full slice expressions: an append copies, the graph stays as it is.
		out, in := g.Requires(i), g.Dependants(i)
		b.out[i] = out[:len(out):len(out)]
		b.in[i] = in[:len(in):len(in)]
	}
	return b, true
}

// Add adds an edge and reports true, or reports false if the edge would close a
// cycle.
func (b *Builder) Add(e Edge) bool {
	from, to := int32(e.From), int32(e.To)
	if from == to {
		return false
	}
	low, high := b.place[from], b.place[to]
	if low < high { // the order must change, or cannot
		back := b.collect(b.out, to, func(i int32) bool { return b.place[i] >= low })
		if slices.Contains(back, from) {
			return false
		}
		forward := b.collect(b.in, from, func(i int32) bool { return b.place[i] <= high })
		b.reorder(back, forward)
	}
	b.out[from] = append(b.out[from], to)
	b.in[to] = append(b.in[to], from)
	return true
}

// collect lists what can be reached from a node without leaving the part of the
// order that within accepts, the node included.
func (b *Builder) collect(rows [][]int32, start int32, within func(int32) bool) []int32 {
	b.seen[start] = true
	found := []int32{start}
	for k := 0; k < len(found); k++ {
		for _, j := range rows[found[k]] {
			if !b.seen[j] && within(j) {
				b.seen[j] = true
				found = append(found, j)
			}
		}
	}
	for _, i := range found {
		b.seen[i] = false
	}
	return found
}

// reorder gives the places of both parts to the requirements first, then to the
// dependants, each part in the order it had.
func (b *Builder) reorder(back, forward []int32) {
	byPlace := func(i, j int32) int { return int(b.place[i] - b.place[j]) }
	slices.SortFunc(back, byPlace)
	slices.SortFunc(forward, byPlace)
	nodes := slices.Concat(back, forward)
	places := make([]int32, len(nodes))
	for k, i := range nodes {
		places[k] = b.place[i]
	}
	slices.Sort(places)
	for k, i := range nodes {
		b.place[i] = places[k]
	}
}
