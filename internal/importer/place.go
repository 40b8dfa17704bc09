package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// CycleError says that components require each other.
type CycleError struct {
	// Members is one cycle, the first one repeated at the end.
	Members []string
	// Position is where the first of them is defined.
	Position finding.Position
}

// Error implements error.
func (e *CycleError) Error() string {
	return fmt.Sprintf("%s: components require each other: %s", e.Position, strings.Join(e.Members, " -> "))
}

// edges joins consumer and provider, as indices into Components, over all
// environments.
func (p *Platform) edges() []dag.Edge {
	number := make(map[string]int, len(p.Components))
	for i, c := range p.Components {
		number[c.Name] = i
	}
	seen := map[dag.Edge]bool{}
	var all []dag.Edge
	for i, c := range p.Components {
		for _, env := range p.Environments {
			d := c.In[env]
			if d == nil {
				continue
			}
			for _, name := range slices.Concat(d.Requires, d.Validates) {
				j, ok := number[name]
				e := dag.Edge{From: i, To: j}
				if ok && i != j && !seen[e] {
					seen[e] = true
					all = append(all, e)
				}
			}
		}
	}
	return all
}

// sorted puts the components into the order of their names.
func (p *Platform) sorted() {
	slices.SortFunc(p.Components, func(a, b *Component) int { return strings.Compare(a.Name, b.Name) })
}

// cycle returns the error of the first cycle of edges; nil where there is none.
func (p *Platform) cycle(g *dag.Graph) error {
	cycles := g.Cycles()
	if len(cycles) == 0 {
		return nil
	}
	e := &CycleError{}
	for _, i := range cycles[0] {
		e.Members = append(e.Members, p.Components[i].Name)
	}
	if first := p.component(e.Members[0]); first != nil {
		for _, env := range p.Environments {
			if d := first.In[env]; d != nil {
				e.Position = d.Position
				break
			}
		}
	}
	return e
}

// Place gives every component a phase after everything it requires.
//
// With groups that count (files) each group has a band of its own, in the order
// of the groups, and stands in it by what it requires and by its type. Otherwise
// the bands are those of the domains and the types have their slots; a domain
// gives way where something it requires belongs to a later one.
func (p *Platform) Place(groups bool) error {
	p.sorted()
	if p.Placed {
		return nil
	}
	g := dag.New(len(p.Components), p.edges())
	if err := p.cycle(g); err != nil {
		return err
	}
	order, _ := g.Order()
	if groups && len(p.Groups) > 0 {
		return p.placeGroups(g, order)
	}
	if len(p.Bands) == 0 {
		p.Bands = ladderfile.DefaultBands()
	}
	return p.placeBands(g, order)
}

// slotOf is the offset that a component of a type is placed at. Smokes are last.
func slotOf(t model.Type) int {
	for _, s := range ladderfile.DefaultSlots() {
		if slices.Contains(s.Types, t) {
			return s.Offset
		}
	}
	return slotOf(model.Runtime)
}

// lowest and highest offsets that keep a type in the meaning of its slot; see the
// rule slot-mismatch.
func bounds(t model.Type) (lowest, highest int) {
	switch t {
	case model.Namespaces:
		return 0, 19
	case model.CRDs:
		return 1, 19
	case model.Operator:
		return 20, 49
	case model.Secrets:
		return 21, 98
	case model.Config:
		return 21, 98
	case model.Bootstrap:
		return 51, 98
	case model.Smoke:
		return 99, 99
	default:
		return 50, 98
	}
}

// placeBands places by bands and slots.
func (p *Platform) placeBands(g *dag.Graph, order []int) error {
	band := make([]int, len(p.Components))
	for i, c := range p.Components {
		band[i] = slices.IndexFunc(p.Bands, func(b plan.Band) bool { return b.Name == c.Domain })
		if band[i] < 0 {
			band[i] = len(p.Bands) - 1
		}
	}
	for _, i := range order {
		for _, j := range g.Requires(i) {
			band[i] = max(band[i], band[j])
		}
		p.raise(i, band[i])
	}
	// A provider whose type stands behind its consumer's slot pushes the consumer
	// along; what no longer fits below the smokes goes to the next band.
	phases := make([]int, len(p.Components))
	for _, i := range order {
		c := p.Components[i]
		low := 0
		for _, j := range g.Requires(i) {
			low = max(low, phases[j]+1)
		}
		phase, at := p.fit(c, band[i], low)
		if at < 0 {
			return p.placeInLine(g, order)
		}
		if at != band[i] {
			band[i] = at
			p.raise(i, at)
		}
		phases[i] = phase
		c.Phase = model.Phase(phase)
	}
	return nil
}

// placeInLine places chains that are too long for slots in one band without any.
func (p *Platform) placeInLine(g *dag.Graph, order []int) error {
	p.Groups = []Group{{Name: "platform"}}
	for _, c := range p.Components {
		c.Group = 0
	}
	return p.placeGroups(g, order)
}

// raise makes a later band the domain of a component.
func (p *Platform) raise(i, band int) {
	if c := p.Components[i]; c.Domain != p.Bands[band].Name {
		c.Domain = p.Bands[band].Name
	}
}

// fit finds a phase from low on in a band, or in the bands after it; at is the
// band, -1 for none. A type that can no longer stand in its slot becomes one
// that can.
func (p *Platform) fit(c *Component, band, low int) (phase, at int) {
	for ; band < len(p.Bands); band++ {
		b := p.Bands[band]
		from, to := int(b.From), int(b.To)
		want := max(from+slotOf(c.Type), low)
		if c.Type == model.Namespaces && from == 0 {
			want = max(from+10, low) // 010 holds what every band needs
		}
		if to-from < 99 || from%100 != 0 {
			if want = max(from+min(slotOf(c.Type), to-from), low); want <= to {
				return want, band
			}
			continue
		}
		lowest, highest := bounds(c.Type)
		if c.Type == model.Smoke {
			// Nothing but smokes may stand behind a smoke.
			lowest, highest = 90, 99
		}
		switch {
		case want < from+lowest:
			want = from + lowest
		case want > from+highest && c.Type != model.Smoke && want <= from+98:
			c.Type = later(c.Type, want-from)
		}
		if want <= from+99 && (c.Type == model.Smoke || want <= from+98) {
			return want, band
		}
		low = max(low, from+100)
	}
	return 0, -1
}

// later is the type of what can stand at an offset behind its own slot.
func later(t model.Type, offset int) model.Type {
	switch {
	case t == model.Namespaces && offset < 20:
		return model.CRDs
	case t == model.Operator && offset == 50:
		return model.Operator
	case t == model.Namespaces || t == model.CRDs || t == model.Operator:
		if offset < 50 {
			return model.Config
		}
		return model.Runtime
	default:
		return t
	}
}

// groupBandWidth is the number of phases per unit of a file's number: 22 begins at
// 220.
const groupBandWidth = 10

// maxSpread is the greatest distance of two places in the band of a group.
const maxSpread = 5

// placeGroups gives each group a band in their order.
func (p *Platform) placeGroups(g *dag.Graph, order []int) error {
	members := make([][]int, len(p.Groups))
	for _, i := range order {
		k := p.Components[i].Group
		if k < 0 || k >= len(p.Groups) {
			return fmt.Errorf("place %s: it belongs to no group", p.Components[i].Name)
		}
		members[k] = append(members[k], i)
	}
	used := slices.DeleteFunc(intsTo(len(p.Groups)), func(k int) bool { return len(members[k]) == 0 })
	levels := map[int][]int{}
	for _, k := range used {
		var err error
		if levels[k], err = p.levels(g, members[k], k); err != nil {
			return err
		}
	}
	starts, ends, err := p.ranges(used, levels)
	if err != nil {
		return err
	}
	p.Bands = nil
	for n, k := range used {
		name := p.Groups[k].Name
		p.Bands = append(p.Bands, plan.Band{Name: name, From: model.Phase(starts[n]), To: model.Phase(ends[n])})
		distinct := slices.Clone(levels[k])
		slices.Sort(distinct)
		distinct = slices.Compact(distinct)
		spread := max(1, min(maxSpread, (ends[n]-starts[n]+1)/len(distinct)))
		for m, i := range members[k] {
			level := slices.Index(distinct, levels[k][m])
			p.Components[i].Phase = model.Phase(starts[n] + level*spread)
			p.Components[i].Domain = name
		}
	}
	return nil
}

func intsTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// levels gives the members of a group, which come in the order of their
// requirements, their rank: after what they require, and by type among what is
// free.
func (p *Platform) levels(g *dag.Graph, members []int, group int) ([]int, error) {
	at := map[int]int{}
	out := make([]int, len(members))
	for m, i := range members {
		c := p.Components[i]
		level := slotOf(c.Type)
		for _, j := range g.Requires(i) {
			switch other := p.Components[j].Group; {
			case other == group:
				level = max(level, at[int(j)]+1)
			case other > group:
				return nil, &GroupError{Consumer: c.Name, Provider: p.Components[j].Name, Group: p.Groups[group].Name, Later: p.Groups[other].Name, Position: p.Groups[group].Position}
			}
		}
		at[i], out[m] = level, level
	}
	return out, nil
}

// GroupError says that a component requires one of a later group.
type GroupError struct {
	Consumer, Provider, Group, Later string
	Position                         finding.Position
}

// Error implements error.
func (e *GroupError) Error() string {
	return fmt.Sprintf("%s: %s of %s requires %s, which comes later, in %s", e.Position, e.Consumer, e.Group, e.Provider, e.Later)
}

// ranges are the first and last phases of the groups that are used. The numbers
// of files are kept where they have room: 22-control-plane begins at 220.
func (p *Platform) ranges(used []int, levels map[int][]int) (starts, ends []int, err error) {
	need := make([]int, len(used))
	total := 0
	for n, k := range used {
		distinct := slices.Clone(levels[k])
		slices.Sort(distinct)
		need[n] = len(slices.Compact(distinct))
		total += need[n]
	}
	if total > int(model.MaxPhase)+1 {
		return nil, nil, fmt.Errorf("place the groups: %d places are needed, and there are %d phases", total, int(model.MaxPhase)+1)
	}
	starts = p.numbered(used)
	for n := range used {
		next := int(model.MaxPhase) + 1
		if n+1 < len(used) && starts != nil {
			next = starts[n+1]
		}
		if starts != nil && starts[n]+need[n] > next {
			starts = nil
		}
	}
	if starts == nil {
		width := min(groupBandWidth*2, (int(model.MaxPhase)+1-total)/max(1, len(used)))
		// From 1 on, so that a single wide band has no slots.
		width, at := max(width-1, 0), 1
		for n := range used {
			starts = append(starts, at)
			at += need[n] + width
		}
	}
	for n := range used {
		next := int(model.MaxPhase) + 1
		if n+1 < len(used) {
			next = starts[n+1]
		}
		// A hundred phases from a full hundred on would be a band with slots.
		ends = append(ends, min(next-1, starts[n]+max(need[n], 90)-1))
	}
	return starts, ends, nil
}

// numbered are the first phases of groups that begin with numbers; nil where not
// all do, or the numbers do not fit.
func (p *Platform) numbered(used []int) []int {
	var starts []int
	for _, k := range used {
		n, _, ok := number(p.Groups[k].Name)
		at := n * groupBandWidth
		if !ok || at > int(model.MaxPhase) || (len(starts) > 0 && at <= starts[len(starts)-1]) {
			return nil
		}
		starts = append(starts, at)
	}
	return starts
}

// number splits "22-control-plane" into 22 and "control-plane".
func number(name string) (n int, rest string, ok bool) {
	i := 0
	for i < len(name) && name[i] >= '0' && name[i] <= '9' && i < 4 {
		n = n*10 + int(name[i]-'0')
		i++
	}
	if i == 0 {
		return 0, name, false
	}
	return n, strings.TrimLeft(name[i:], "-_. "), true
}

// Check proves that every edge between components of an environment is kept: the
// consumer stands in a later phase than the provider, or, where the places were
// given, in no earlier one.
func (p *Platform) Check() error {
	var wrong []string
	for _, a := range p.Components {
		for _, env := range p.Environments {
			d := a.In[env]
			if d == nil {
				continue
			}
			for _, name := range slices.Concat(d.Requires, d.Validates) {
				b := p.component(name)
				if b == nil || b == a || b.In[env] == nil || a.PreArgo || b.PreArgo {
					continue
				}
				if from, to := a.phaseIn(env), b.phaseIn(env); from < to || from == to && !p.Placed {
					wrong = append(wrong, fmt.Sprintf("%s (%s) requires %s (%s)", a.Name, from, b.Name, to))
				}
			}
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the phases do not keep %d edges: %s", len(wrong), strings.Join(wrong, "; "))
	}
	return nil
}
