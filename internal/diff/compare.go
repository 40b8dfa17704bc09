package diff

import (
	"maps"
	"slices"
)

// Compare says what differs between two states.
func Compare(from, to Side) Comparison {
	c := Comparison{
		From: from.source(), To: to.source(), Policy: string(to.Plan.Policy),
		Components:  components(from, to),
		Steps:       steps(from, to),
		Order:       order(from, to),
		Edges:       edges(from, to),
		Cycles:      onlyOne(from.Plan.Cycles, to.Plan.Cycles, slices.Compare[[]string]),
		Unplaced:    onlyOne(from.Plan.Unplaced, to.Plan.Unplaced, compareText),
		Time:        times(from, to),
		BlastRadius: radii(from, to),
	}
	if c.Policy == "" {
		c.Policy = string(from.Plan.Policy)
	}
	unrendered := from.unrendered()
	maps.Copy(unrendered, to.unrendered())
	c.NotCompared = list(slices.Sorted(maps.Keys(unrendered)))
	c.Objects = objects(from, to, unrendered)
	c.Differs = c.differs()
	return c
}

func (c *Comparison) differs() bool {
	for _, n := range []int{
		len(c.Components.Added), len(c.Components.Removed), len(c.Components.Moved), len(c.Components.Changed),
		len(c.Steps.Added), len(c.Steps.Removed), len(c.Steps.Changed), len(c.Order),
		len(c.Edges.Added), len(c.Edges.Removed), len(c.Edges.Changed),
		len(c.Objects.Added), len(c.Objects.Removed), len(c.Objects.Changed),
		len(c.Cycles.Added), len(c.Cycles.Removed), len(c.Unplaced.Added), len(c.Unplaced.Removed), len(c.BlastRadius),
	} {
		if n > 0 {
			return true
		}
	}
	return c.From.Missing != c.To.Missing || c.Time.Makespan.Delta != 0 || c.Time.CriticalPath.Delta != 0
}

// onlyOne lists what only one of two lists has, sorted.
func onlyOne[T any](from, to []T, by func(a, b T) int) ListChange[T] {
	lacks := func(in []T) func(T) bool {
		return func(v T) bool { return slices.ContainsFunc(in, func(w T) bool { return by(v, w) == 0 }) }
	}
	out := ListChange[T]{
		Added:   list(slices.DeleteFunc(slices.Clone(to), lacks(from))),
		Removed: list(slices.DeleteFunc(slices.Clone(from), lacks(to))),
	}
	slices.SortFunc(out.Added, by)
	slices.SortFunc(out.Removed, by)
	return out
}
