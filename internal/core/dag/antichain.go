package dag

// Antichain chooses, of the nodes of a graph whose edges are transitive and
// without cycle, the set of greatest weight in which no two nodes are joined by
// an edge. Weights are positive. Among sets of one weight the choice depends on
// the numbers only.
//
// Source: R. P. Dilworth, "A Decomposition Theorem for Partially Ordered Sets"
// (1950), in the weighted form: the greatest weight of an antichain is what a
// greatest flow through the edges leaves over of the weights; the flow is found
// by Dinic's algorithm.
func (g *Graph) Antichain(weight []int64) []bool {
	n := g.Len()
	source, sink := 2*n, 2*n+1
	f := newFlow(2*n + 2)
	var total int64
	for i := range n {
		total += weight[i]
	}
	for i := range n {
		f.join(source, i, weight[i])
		f.join(n+i, sink, weight[i])
		for _, j := range g.Requires(i) {
			f.join(i, n+int(j), total)
		}
	}
	f.saturate(source, sink)
	// After the last round, level tells what the source still reaches.
	chosen := make([]bool, n)
	for i := range n {
		chosen[i] = f.level[i] >= 0 && f.level[n+i] < 0
	}
	return chosen
}

// flow is a network; arc k and its reverse k^1 are neighbours in the list.
type flow struct {
	to    []int
	room  []int64
	arcs  [][]int
	level []int
	next  []int
}

func newFlow(n int) *flow {
	return &flow{arcs: make([][]int, n), level: make([]int, n), next: make([]int, n)}
}

func (f *flow) join(from, to int, room int64) {
	f.arcs[from] = append(f.arcs[from], len(f.to))
	f.to, f.room = append(f.to, to), append(f.room, room)
	f.arcs[to] = append(f.arcs[to], len(f.to))
	f.to, f.room = append(f.to, from), append(f.room, 0)
}

// saturate pushes the greatest flow from source to sink.
func (f *flow) saturate(source, sink int) {
	for f.layer(source, sink) {
		clear(f.next)
		for f.push(source, sink) {
		}
	}
}

// layer gives every node its distance from the source, -1 for out of reach, and
// reports whether the sink can be reached.
func (f *flow) layer(source, sink int) bool {
	for i := range f.level {
		f.level[i] = -1
	}
	f.level[source] = 0
	queue := []int{source}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, k := range f.arcs[i] {
			if j := f.to[k]; f.room[k] > 0 && f.level[j] < 0 {
				f.level[j] = f.level[i] + 1
				queue = append(queue, j)
			}
		}
	}
	return f.level[sink] >= 0
}

// push sends flow along one path of the layers, and reports whether there was
// one. It walks with its own stack, since paths may be long.
func (f *flow) push(source, sink int) bool {
	var path []int
	at := source
	for at != sink {
		if f.next[at] == len(f.arcs[at]) {
			if at == source {
				return false
			}
			last := path[len(path)-1]
			path = path[:len(path)-1]
			at = f.to[last^1]
			f.next[at]++
			continue
		}
		k := f.arcs[at][f.next[at]]
		if j := f.to[k]; f.room[k] > 0 && f.level[j] == f.level[at]+1 {
			path = append(path, k)
			at = j
			continue
		}
		f.next[at]++
	}
	least := f.room[path[0]]
	for _, k := range path {
		least = min(least, f.room[k])
	}
	for _, k := range path {
		f.room[k] -= least
		f.room[k^1] += least
	}
	return true
}
