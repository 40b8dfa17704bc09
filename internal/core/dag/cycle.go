package dag

import "slices"

// Components gives every node the number of its strongly connected component,
// and the number of components. A component has a lesser number than the
// components that require it. The algorithm is Tarjan's, with its own stack: a
// chain of requirements may be as long as the graph.
func (g *Graph) Components() (component []int, count int) {
	n := g.Len()
	const unseen = -1
	component = make([]int, n)
	index := make([]int32, n) // order of discovery
	low := make([]int32, n)
	for i := range n {
		component[i], index[i] = unseen, unseen
	}
	type frame struct{ node, next int32 }
	var (
		calls   []frame
		stack   []int32
		counter int32
	)
	enter := func(i int32) {
		index[i], low[i] = counter, counter
		counter++
		stack = append(stack, i)
		calls = append(calls, frame{node: i})
	}
	for root := range n {
		if index[root] != unseen {
			continue
		}
		enter(int32(root))
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			i := f.node
			if edges := g.Requires(int(i)); int(f.next) < len(edges) {
				j := edges[f.next]
				f.next++
				switch {
				case index[j] == unseen:
					enter(j)
				case component[j] == unseen:
					low[i] = min(low[i], index[j])
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				caller := calls[len(calls)-1].node
				low[caller] = min(low[caller], low[i])
			}
			if low[i] != index[i] {
				continue
			}
			for {
				j := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				component[j] = count
				if j == i {
					break
				}
			}
			count++
		}
	}
	return component, count
}

// Cycles names every node that is on a cycle: a list of cycles, each a chain of
// requirements that begins and ends with its least node. A strongly connected
// component is covered by shortest cycles, the first through its least node, so
// that all of it is named and every step of a cycle is an edge of the graph.
func (g *Graph) Cycles() [][]int {
	component, count := g.Components()
	size := make([]int, count)
	for _, c := range component {
		size[c]++
	}
	var cycles [][]int
	covered := make([]bool, g.Len())
	ahead, behind := newSide(g.out.inside(component)), newSide(g.in.inside(component))
	for i := range g.Len() {
		_, selfLoop := slices.BinarySearch(g.Requires(i), int32(i))
		if covered[i] || (size[component[i]] == 1 && !selfLoop) {
			continue
		}
		cycle := shortestCycle(i, ahead, behind)
		for _, j := range cycle {
			covered[j] = true
		}
		cycles = append(cycles, rotate(cycle))
	}
	slices.SortFunc(cycles, slices.Compare)
	return cycles
}

// side is one of the two sides of a search from both ends, breadth first.
type side struct {
	rows  rows // edges inside strongly connected components
	nodes []reached
	front []int32 // the nodes that are farthest
	spare []int32 // for the next front
}

func newSide(r rows) *side {
	return &side{rows: r, nodes: make([]reached, len(r.start)-1)}
}

// reached says which search reached a node last, and from where.
type reached struct{ search, from int32 }

func (s *side) begin(search, start int32) {
	s.front = append(s.front[:0], start)
	s.nodes[start].search = search
}

// path leads from a node that was reached back to the start, without the start.
func (s *side) path(i, start int32) []int {
	var path []int
	for ; i != start; i = s.nodes[i].from {
		path = append(path, int(i))
	}
	return path
}

// shortestCycle finds a shortest cycle through a node that lies on one, without
// the repeated end. It searches from both ends, the smaller front first: in a large
// component that reaches far fewer nodes than a search from one end. Before a step
// the fronts are f and b edges away, and there is no cycle of f+b edges or fewer; the
// step meets every cycle of f+b+1 edges, so that the first that it meets is shortest.
func shortestCycle(start int, ahead, behind *side) []int {
	s, search := int32(start), int32(start)+1
	ahead.begin(search, s)
	behind.begin(search, s)
	for len(ahead.front) > 0 && len(behind.front) > 0 {
		near, other := ahead, behind
		if len(behind.front) < len(ahead.front) {
			near, other = behind, ahead
		}
		next := near.spare[:0]
		for _, i := range near.front {
			for _, j := range near.rows.of(int(i)) {
				if other.nodes[j].search == search {
					head, tail := near.path(i, s), other.path(j, s)
					if near == behind {
						head, tail = tail, head
					}
					slices.Reverse(head)
					return slices.Concat([]int{start}, head, tail)
				}
				if near.nodes[j].search != search {
					near.nodes[j] = reached{search, i}
					next = append(next, j)
				}
			}
		}
		near.front, near.spare = next, near.front
	}
	return nil
}

// rotate brings the least node to the front and repeats it at the end.
func rotate(cycle []int) []int {
	least := 0
	for k, i := range cycle {
		if i < cycle[least] {
			least = k
		}
	}
	turned := append(slices.Clone(cycle[least:]), cycle[:least]...)
	return append(turned, turned[0])
}
