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
	from := make([]int32, g.Len()) // breadth-first tree of the last search
	mark := make([]int32, g.Len()) // number of the search that reached the node
	for i := range g.Len() {
		_, selfLoop := slices.BinarySearch(g.Requires(i), int32(i))
		if covered[i] || (size[component[i]] == 1 && !selfLoop) {
			continue
		}
		cycle := g.shortestCycle(i, component, from, mark)
		for _, j := range cycle {
			covered[j] = true
		}
		cycles = append(cycles, rotate(cycle))
	}
	slices.SortFunc(cycles, slices.Compare)
	return cycles
}

// shortestCycle finds a shortest cycle through a node that lies on one, without
// the repeated end.
func (g *Graph) shortestCycle(start int, component []int, from, mark []int32) []int {
	search := int32(start) + 1
	queue := []int32{int32(start)}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, j := range g.Requires(int(i)) {
			if int(j) == start {
				var cycle []int
				for k := i; int(k) != start; k = from[k] {
					cycle = append(cycle, int(k))
				}
				cycle = append(cycle, start)
				slices.Reverse(cycle)
				return cycle
			}
			if component[j] == component[start] && mark[j] != search {
				mark[j], from[j] = search, i
				queue = append(queue, j)
			}
		}
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
