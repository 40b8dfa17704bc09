package fluxcd

import (
	"slices"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/dag"
)

// Order answers which units start and become Ready before others.
//
// Each unit has two moments. It starts once what it depends on is Ready, and once the
// Kustomization around it has started: that applies it. It is Ready after it has
// started and, where it waits, after what it applies is Ready. Source:
// kustomize-controller, KustomizationReconciler.checkDependencies and checkHealth;
// helm-controller, HelmReleaseReconciler.checkDependencies.
type Order struct {
	units []Unit
	graph *dag.Graph
	// reached are the moments before a start, by unit, found when first asked for.
	reached map[int][]bool
	mu      sync.Mutex     // guards reached
	of      map[string]int // the unit of a component
}

// Ordered makes the order of a setup. It is safe for concurrent use.
func (s *Setup) Ordered() *Order {
	o := &Order{units: s.Units, reached: map[int][]bool{}, of: map[string]int{}}
	var edges []dag.Edge
	after := func(later, earlier int) { edges = append(edges, dag.Edge{From: later, To: earlier}) }
	for i := range s.Units {
		u := &s.Units[i]
		if u.Component != "" {
			o.of[u.Component] = i
		}
		after(ready(i), start(i))
		for _, d := range u.DependsOn {
			if d.Unit >= 0 {
				after(start(i), ready(d.Unit))
			}
		}
		if u.Parent >= 0 {
			after(start(i), start(u.Parent))
			if s.Units[u.Parent].Wait && !u.Unawaited {
				after(ready(u.Parent), ready(i))
			}
		}
		for _, c := range u.Checks {
			if !u.Wait && c != i {
				after(ready(i), ready(c))
			}
		}
	}
	o.graph = dag.New(2*len(s.Units), edges)
	n := len(edges)
	for i := range s.Units {
		for _, other := range s.Units[i].Also {
			if s.Units[other].Wait && !s.Units[i].Unawaited && !slices.Contains(o.graph.AllRequires(ready(i)), ready(other)) {
				after(ready(other), ready(i))
			}
		}
	}
	if len(edges) > n {
		o.graph = dag.New(2*len(s.Units), edges)
	}
	return o
}

// The moments of a unit, as nodes.
func start(i int) int { return 2 * i }
func ready(i int) int { return 2*i + 1 }

// Unit is the unit of a component.
func (o *Order) Unit(component string) (i int, ok bool) {
	i, ok = o.of[component]
	return i, ok
}

// before marks the moments before a unit starts.
func (o *Order) before(i int) []bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, ok := o.reached[i]; ok {
		return known
	}
	all := make([]bool, o.graph.Len())
	for _, moment := range o.graph.AllRequires(start(i)) {
		all[moment] = true
	}
	o.reached[i] = all
	return all
}

// ReadyBefore reports whether a is Ready before b starts.
func (o *Order) ReadyBefore(a, b int) bool { return a != b && o.before(b)[ready(a)] }

// StartsBefore reports whether a has applied its own objects before b starts: b
// depends on it, or a applies what b is part of.
func (o *Order) StartsBefore(a, b int) bool { return a != b && o.before(b)[start(a)] }

// Compare is negative where the unit of one component has applied its objects before
// that of another starts, and 0 where nothing orders the two, or a circle does.
func (o *Order) Compare(a, b string) int {
	i, first := o.of[a]
	j, second := o.of[b]
	if !first || !second {
		return 0
	}
	earlier, later := o.StartsBefore(i, j), o.StartsBefore(j, i)
	switch {
	case earlier == later:
		return 0
	case earlier:
		return -1
	default:
		return 1
	}
}

// Applies reports whether a applies b, directly or not.
func (o *Order) Applies(a, b int) bool {
	for seen := 0; b >= 0 && seen <= len(o.units); seen++ {
		b = o.units[b].Parent
		if a == b {
			return b >= 0
		}
	}
	return false
}

// Cycles are the circles in which no unit ever starts, each as a list of units that
// begins and ends with the same.
func (o *Order) Cycles() [][]int {
	var out [][]int
	for _, moments := range o.graph.Cycles() {
		var units []int
		for _, m := range moments {
			if i := m / 2; len(units) == 0 || units[len(units)-1] != i {
				units = append(units, i)
			}
		}
		if len(units) == 1 || units[0] != units[len(units)-1] {
			units = append(units, units[0])
		}
		out = append(out, units)
	}
	return out
}

// Chain is the longest chain of units of which each waits for the one before it. It is
// nil where nothing waits, or where there is a circle.
func (o *Order) Chain() []int {
	weight := make([]int64, o.graph.Len())
	for i := range o.units {
		if len(o.units[i].DependsOn) > 0 {
			weight[start(i)] = 1
		}
	}
	moments, _, ok := o.graph.Longest(weight)
	if !ok {
		return nil
	}
	var chain []int
	first := -1 // the last that is Ready before anything waits
	for _, m := range moments {
		switch {
		case weight[m] > 0:
			if len(chain) == 0 && first >= 0 {
				chain = append(chain, first)
			}
			chain = append(chain, m/2)
		case len(chain) == 0 && m%2 == 1:
			first = m / 2
		}
	}
	return chain
}
