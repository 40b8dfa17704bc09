package plan

import (
	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// gate decides what waits for what under the policy, and orders the components.
func (p *Plan) gate() {
	g := p.graph
	n := len(g.names)
	var edges []dag.Edge
	for i := range n {
		for _, j := range g.all.Requires(i) {
			// The ladder's order wins under phases and serial: what is against
			// it does not gate, and fails the way it does in production.
			if p.Policy == rollout.Edges || g.step[j] <= g.step[i] {
				edges = append(edges, dag.Edge{From: i, To: int(j)})
			}
		}
	}
	g.gates = withoutCycles(n, edges)
	g.order, _ = g.gates.Order()
	g.after = make([]int, n)
	if p.Policy != rollout.Edges {
		copy(g.after, g.step)
	} else {
		g.fallBack()
	}
	g.rankAll(p.Policy)
}

// withoutCycles leaves out the edges inside a cycle: no member can wait for
// another. RollingSync starts them together as well.
func withoutCycles(n int, edges []dag.Edge) *dag.Graph {
	return dag.New(n, acyclic(n, edges))
}

// fallBack lets the components of which no requirement is known wait for all
// earlier steps, up to the first step that holds something which requires them.
func (g *graph) fallBack() {
	first := make([]int, len(g.names)) // least step among the transitive dependants
	for k := len(g.order) - 1; k >= 0; k-- {
		i := g.order[k]
		first[i] = len(g.limits)
		for _, d := range g.gates.Dependants(i) {
			first[i] = min(first[i], g.step[d], first[d])
		}
		if len(g.all.Requires(i)) == 0 {
			g.after[i] = min(g.step[i], first[i])
		}
	}
}

// waits is the graph of everything that is waited for: n components, then one
// node per step that stands for the end of the step and of all before it.
func (g *graph) waits() *dag.Graph {
	n, steps := len(g.names), len(g.limits)
	var edges []dag.Edge
	for i := range n {
		for _, j := range g.gates.Requires(i) {
			edges = append(edges, dag.Edge{From: i, To: int(j)})
		}
		edges = append(edges, dag.Edge{From: n + g.step[i], To: i})
		if k := g.after[i]; k > 0 {
			edges = append(edges, dag.Edge{From: i, To: n + k - 1})
		}
	}
	for k := 1; k < steps; k++ {
		edges = append(edges, dag.Edge{From: n + k, To: n + k - 1})
	}
	return dag.New(n+steps, edges)
}

func (g *graph) weights(nodes int) []int64 {
	w := make([]int64, nodes)
	for i, d := range g.duration {
		w[i] = int64(d)
	}
	return w
}

// rankAll gives every component the length of the heaviest chain it begins, and
// finds the heaviest of all.
func (g *graph) rankAll(policy rollout.Policy) {
	if policy == rollout.Serial {
		g.rank = make([]int64, len(g.names)) // the order decides
		return
	}
	waits := g.waits()
	g.chain, g.chainTime, _ = waits.Longest(g.weights(waits.Len()))
	// The graph has no cycle: gates has none, and fallBack waits for no step
	// that holds a dependant.
	height, _ := waits.Heights(g.weights(waits.Len()))
	g.rank = height[:len(g.names)]
}
