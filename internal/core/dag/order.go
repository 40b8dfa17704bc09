package dag

// Order lists the nodes, each after everything it requires; among those that
// could come next the least number comes first. ok is false for a graph with a
// cycle: then the nodes on cycles, and those that require them, are missing.
func (g *Graph) Order() (order []int, ok bool) {
	n := g.Len()
	missing := make([]int32, n)
	ready := make(minHeap, 0, n)
	for i := range n {
		missing[i] = int32(len(g.Requires(i)))
		if missing[i] == 0 {
			ready = append(ready, int32(i)) // ascending, so already a heap
		}
	}
	order = make([]int, 0, n)
	for len(ready) > 0 {
		i := ready.pop()
		order = append(order, int(i))
		for _, j := range g.Dependants(int(i)) {
			if missing[j]--; missing[j] == 0 {
				ready.push(j)
			}
		}
	}
	return order, len(order) == n
}

// Layers gives every node its layer: 0 for one that requires nothing, else one
// more than the highest layer it requires. ok is false for a graph with a cycle.
func (g *Graph) Layers() (layer []int, ok bool) {
	order, ok := g.Order()
	if !ok {
		return nil, false
	}
	layer = make([]int, g.Len())
	for _, i := range order {
		for _, j := range g.Requires(i) {
			layer[i] = max(layer[i], layer[j]+1)
		}
	}
	return layer, true
}

// Heights gives every node the weight of the heaviest chain that begins with it
// and goes on through its dependants. ok is false for a graph with a cycle.
func (g *Graph) Heights(weight []int64) (height []int64, ok bool) {
	order, ok := g.Order()
	if !ok {
		return nil, false
	}
	height = make([]int64, g.Len())
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		for _, j := range g.Dependants(i) {
			height[i] = max(height[i], height[j])
		}
		height[i] += weight[i]
	}
	return height, true
}

// Longest is the heaviest chain of requirements, the first to run first, and its
// weight. Among chains of one weight it is the one with the least numbers from
// its start on. Weights are not negative. ok is false for a graph with a cycle.
func (g *Graph) Longest(weight []int64) (path []int, total int64, ok bool) {
	height, ok := g.Heights(weight)
	if !ok || len(height) == 0 {
		return nil, 0, ok
	}
	at := 0
	for i, h := range height {
		if h > height[at] {
			at = i
		}
	}
	total = height[at]
	for {
		path = append(path, at)
		rest := height[at] - weight[at]
		next := -1
		for _, j := range g.Dependants(at) {
			if height[j] == rest {
				next = int(j)
				break
			}
		}
		if next < 0 {
			return path, total, true
		}
		at = next
	}
}

// minHeap is a heap of numbers without the indirection of container/heap, which
// would cost more than the rest of Order.
type minHeap []int32

func (h *minHeap) push(v int32) {
	s := append(*h, v)
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if s[parent] <= v {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = v
	*h = s
}

func (h *minHeap) pop() int32 {
	s := *h
	top := s[0]
	last := s[len(s)-1]
	s = s[:len(s)-1]
	if len(s) > 0 {
		i := 0
		for {
			child := 2*i + 1
			if child >= len(s) {
				break
			}
			if child+1 < len(s) && s[child+1] < s[child] {
				child++
			}
			if last <= s[child] {
				break
			}
			s[i] = s[child]
			i = child
		}
		s[i] = last
	}
	*h = s
	return top
}
