package rollout

import (
	"cmp"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/dag"
)

// Applied is what is remembered of a component that was applied, in a place that
// outlives the repository.
type Applied struct {
	Component string
	// Sequence is its place in the order in which components were first applied,
	// from 1.
	Sequence int
	// Requires are the components that were gates of it when it was applied last;
	// none means that none is known.
	Requires []string
	// Within are the components whose Namespaces and CRDs its objects need: that
	// is certain, and says nothing about what else it requires.
	Within []string
}

// Removals lists what was applied and does not stay, in the order in which it
// was applied. That is the order of the sequences, except that what was required
// stands before what required it: a requirement may be younger than the
// component that came to have it. The caller fills in timeouts and retries.
func Removals(applied []Applied, stays func(component string) bool) []RemovalSpec {
	applied = slices.Clone(applied)
	slices.SortFunc(applied, func(a, b Applied) int {
		return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Component, b.Component))
	})
	number := make(map[string]int, len(applied))
	for i, a := range applied {
		number[a.Component] = i
	}
	var edges []dag.Edge
	for i, a := range applied {
		for _, name := range slices.Concat(a.Requires, a.Within) {
			if j, ok := number[name]; ok && j != i {
				edges = append(edges, dag.Edge{From: i, To: j})
			}
		}
	}
	graph := dag.New(len(applied), edges)
	place := make([]int, len(applied)) // in the order
	var out []RemovalSpec
	for k, i := range wholeOrder(graph) {
		place[i] = k + 1
		name := applied[i].Component
		if stays(name) {
			continue
		}
		r := RemovalSpec{Name: name, EdgesKnown: len(applied[i].Requires) > 0}
		for _, j := range vanishedBehind(graph, i, func(j int) bool { return !stays(applied[j].Component) }) {
			if place[j] > 0 { // else they required each other, and the order decides
				r.Requires = append(r.Requires, applied[j].Component)
			}
		}
		slices.Sort(r.Requires)
		out = append(out, r)
	}
	return out
}

// wholeOrder is the order of a graph, with what requires each other, which no
// single rollout applies but several may have, at its end.
func wholeOrder(graph *dag.Graph) []int {
	order, ok := graph.Order()
	if ok {
		return order
	}
	has := make([]bool, graph.Len())
	for _, i := range order {
		has[i] = true
	}
	for i, done := range has {
		if !done {
			order = append(order, i)
		}
	}
	return order
}

// vanishedBehind are the vanished components that one requires directly or
// through components that stay; what is behind those is their business.
func vanishedBehind(graph *dag.Graph, from int, vanished func(int) bool) []int {
	seen := map[int]bool{from: true}
	stack := []int{from}
	var found []int
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, next := range graph.Requires(i) {
			j := int(next)
			if seen[j] {
				continue
			}
			seen[j] = true
			if vanished(j) {
				found = append(found, j)
			} else {
				stack = append(stack, j)
			}
		}
	}
	return found
}
