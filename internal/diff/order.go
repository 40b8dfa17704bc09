package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Where a component stands relative to another.
const (
	before   = "before"
	together = "with"
	after    = "after"
)

// order finds the components whose place relative to others changed: the fewest,
// such that all others keep their order among themselves. Components of one step
// stand together.
func order(from, to Side) []Reordered {
	a, b := planned(from), planned(to)
	var names []string
	for name := range a {
		if _, ok := b[name]; ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	// There may be several smallest choices: make the same one whichever side is
	// first.
	turned := slices.CompareFunc(names, names, func(m, n string) int { return cmp.Or(cmp.Compare(a[m], b[n])) }) > 0
	kept := keep(names, a, b, turned)
	out := []Reordered{}
	for _, name := range names {
		if kept[[2]int{a[name], b[name]}] {
			continue
		}
		r := Reordered{Component: name}
		for _, other := range names {
			x, y := relation(a[name], a[other]), relation(b[name], b[other])
			if x != y {
				r.Relations = append(r.Relations, Relation{Other: other, From: x, To: y})
			}
		}
		if len(r.Relations) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// planned are the steps of the planned components.
func planned(s Side) map[string]int {
	out := map[string]int{}
	for i, step := range s.Plan.Steps {
		for _, name := range step.Components {
			out[name] = i
		}
	}
	return out
}

func relation(one, other int) string {
	switch cmp.Compare(one, other) {
	case -1:
		return before
	case 1:
		return after
	default:
		return together
	}
}

// cell holds the components of one step before and one step after.
type cell struct {
	at     [2]int
	weight int
	first  string // least name
	total  int    // greatest weight of a chain that ends here
	prior  int    // the cell before in that chain, -1 for none
}

// keep chooses the heaviest chain of cells that rise on both sides: what is in
// them keeps its order.
func keep(names []string, a, b map[string]int, turned bool) map[[2]int]bool {
	at := map[[2]int]*cell{}
	for _, name := range names {
		key := [2]int{a[name], b[name]}
		if at[key] == nil {
			at[key] = &cell{at: key, first: name, prior: -1}
		}
		at[key].weight++
	}
	cells := slices.Collect(maps.Values(at))
	one, two := 0, 1
	if turned {
		one, two = 1, 0
	}
	slices.SortFunc(cells, func(x, y *cell) int {
		return cmp.Or(cmp.Compare(x.at[one], y.at[one]), cmp.Compare(x.at[two], y.at[two]), strings.Compare(x.first, y.first))
	})
	best := -1
	for i, c := range cells {
		c.total = c.weight
		for j, d := range cells[:i] {
			if d.at[0] < c.at[0] && d.at[1] < c.at[1] && d.total+c.weight > c.total {
				c.total, c.prior = d.total+c.weight, j
			}
		}
		if best < 0 || c.total > cells[best].total {
			best = i
		}
	}
	kept := map[[2]int]bool{}
	for i := best; i >= 0; i = cells[i].prior {
		kept[cells[i].at] = true
	}
	return kept
}
