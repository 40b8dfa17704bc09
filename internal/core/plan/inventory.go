package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Inventory is the ladder with everything that has a place in it, for reports.
type Inventory struct {
	Environment string
	Steps       []Step
	// Phases groups the components by their place, in order; a step of several
	// phases has several groups, a phase without components none.
	Phases []PhaseGroup
}

// PhaseGroup is one place of the ladder.
type PhaseGroup struct {
	Label string // "150", "-3", "pre"; as written for components without a step
	// Step is the index of its step, from 1; 0 where no step matches.
	Step int
	About
	Members []Member
}

// Member is one component of an inventory.
type Member struct {
	Name, Domain, Project, Namespace string
	Type                             model.Type
	Enabled                          bool
	// File is where the component is defined.
	File string
	// Requires are its providers among the edges that are listed, sorted, each once.
	Requires []string
	// Late are those that it requires and that stand in a later step.
	Late []string
	// Only are the environments that have it, where not every one does.
	Only []string
}

// TakeInventory lists every component of a plan, disabled ones too, by place, with the
// providers among some edges. in is what the plan was built of.
func TakeInventory(p *Plan, in Input, edges []Edge) (Inventory, error) {
	placed, err := in.place()
	if err != nil {
		return Inventory{}, err
	}
	requires := make(map[string][]string)
	for _, e := range edges {
		requires[e.From] = append(requires[e.From], e.To)
	}
	late := map[string][]string{}
	for _, e := range p.Against {
		if e.Strength == Hard && !slices.Contains(late[e.From], e.To) {
			late[e.From] = append(late[e.From], e.To)
		}
	}
	indexes := make([]int, len(in.Components))
	for i := range indexes {
		indexes[i] = i
	}
	turn := map[string]int{} // before Argo CD, one is applied after the other
	for i, name := range p.Order {
		turn[name] = i
	}
	place := func(i int) int { // components without a step come last
		if placed.stepOf[i] < 0 {
			return len(p.Steps)
		}
		return placed.stepOf[i]
	}
	slices.SortFunc(indexes, func(i, j int) int {
		a, b := &in.Components[i], &in.Components[j]
		return cmp.Or(
			cmp.Compare(place(i), place(j)), cmp.Compare(a.Phase, b.Phase),
			strings.Compare(a.Order(), b.Order()), before(a, b, turn), strings.Compare(a.Name, b.Name),
		)
	})
	inv := Inventory{Environment: in.Environment, Steps: p.Steps}
	for _, i := range indexes {
		c := &in.Components[i]
		group := PhaseGroup{Label: c.Order()}
		if k := placed.stepOf[i]; k >= 0 {
			group.Step, group.About = k+1, p.Steps[k].About
			if c.Phase < 0 || len(c.Waves) > 0 {
				group.Label = p.Steps[k].Label
			}
		}
		last := len(inv.Phases) - 1
		if last < 0 || inv.Phases[last].Label != group.Label || inv.Phases[last].Step != group.Step {
			inv.Phases = append(inv.Phases, group)
			last++
		}
		names := slices.Clone(requires[c.Name])
		slices.Sort(names)
		inv.Phases[last].Members = append(inv.Phases[last].Members, Member{
			Name: c.Name, Domain: c.Domain, Project: c.Project, Namespace: c.Namespace,
			Type: c.Type, Enabled: c.Enabled, File: c.Position.File, Requires: slices.Compact(names), Late: late[c.Name], Only: in.Only[c.Name],
		})
	}
	return inv, nil
}

// before orders components that are applied before Argo CD by their turn.
func before(a, b *model.Component, turn map[string]int) int {
	if !a.PreArgo || !b.PreArgo {
		return 0
	}
	return cmp.Compare(turn[a.Name], turn[b.Name])
}
