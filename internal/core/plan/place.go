package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Unordered is the label of the step of components that have neither a phase nor a
// sync wave, on a ladder where none has a phase.
const Unordered = "no phase"

// place is where a component stands: before Argo CD, then by its path of sync
// waves, then by its step of the ladder file, or of the ApplicationSet that
// generates it.
type place struct {
	later   bool // false: before Argo CD
	waves   []int
	step    int // index into Ladder.Steps, -1 for none
	phase   model.Phase
	rolling int // RollingSync step of its ApplicationSet, from 1; 0 for none
}

func (p place) compare(q place) int {
	if p.later != q.later {
		if q.later {
			return -1
		}
		return 1
	}
	return cmp.Or(slices.Compare(p.waves, q.waves), cmp.Compare(p.step, q.step), cmp.Compare(p.phase, q.phase), cmp.Compare(p.rolling, q.rolling))
}

// ladderIndex finds the step of a phase.
type ladderIndex struct {
	steps   []LadderStep
	inSet   map[string]map[model.Phase]int
	anySet  map[model.Phase]int
	noSteps bool
	waves   map[int]About
	// computes is set where sync waves order those of which none has a phase.
	computes bool
	// parted are the ApplicationSets whose steps are among the waves of what their
	// Applications apply: the others of the set stand beside those.
	parted map[string]bool
	// unphased is that of the input.
	unphased bool
	// ladder is what the steps are of.
	ladder *Ladder
}

// indexLadder sorts the steps into the order in which they run: by tier in
// parent order, then as written.
func indexLadder(l Ladder) ladderIndex {
	x := ladderIndex{
		steps: slices.Clone(l.Steps), inSet: make(map[string]map[model.Phase]int),
		anySet: make(map[model.Phase]int), noSteps: len(l.Steps) == 0, waves: l.Waves,
		computes: l.Layout == AppOfApps, ladder: &l,
	}
	if len(l.Sets) > 0 {
		slices.SortStableFunc(x.steps, func(a, b LadderStep) int {
			return cmp.Compare(slices.Index(l.Sets, a.Set), slices.Index(l.Sets, b.Set))
		})
	}
	for i, s := range x.steps {
		for _, phase := range s.Phases {
			if _, ok := x.anySet[phase]; !ok {
				x.anySet[phase] = i
			}
			set := x.inSet[s.Set]
			if set == nil {
				set = make(map[model.Phase]int)
				x.inSet[s.Set] = set
			}
			if _, ok := set[phase]; !ok {
				set[phase] = i
			}
		}
	}
	return x
}

// find places a component; ok is false if no step matches it.
func (x ladderIndex) find(c *model.Component) (p place, ok bool) {
	p = place{later: !c.PreArgo, waves: c.Waves, step: -1, phase: model.NoPhase}
	if c.PreArgo {
		p.waves = nil
		return p, true
	}
	if x.ladder.NeverSynced(c) {
		return p, false
	}
	if c.Phase >= 0 {
		if i, found := x.inSet[c.Domain][c.Phase]; found {
			p.step = i
			return p, true
		}
		if i, found := x.anySet[c.Phase]; found {
			p.step = i
			return p, true
		}
		if x.noSteps {
			p.phase = c.Phase // a ladder without steps has one per phase in use
			return p, true
		}
	}
	p.rolling = c.Step
	if x.parted[c.Set] && c.Step > 0 && !slices.Contains(c.Parents, model.AtSteps(c.Set)) {
		p.waves, p.rolling = append(slices.Clone(c.Waves), c.Step), 0
	}
	if len(p.waves) == 0 && x.noSteps {
		if c.Set == "" && !c.Object {
			return p, true // a descriptor on a ladder of which nobody has a phase
		}
		p.waves = []int{0} // Argo CD's default
	}
	if x.unphased && phaseless(c) {
		return place{later: true, step: -1, phase: model.NoPhase}, true
	}
	return p, len(p.waves) > 0
}

// phaseless tells a descriptor that nothing places but the phase that it has not.
func phaseless(c *model.Component) bool {
	return c.Phase < 0 && len(c.Waves) == 0 && !c.PreArgo && !c.Object
}

// step makes the step of a place.
func (x ladderIndex) step(p place) Step {
	switch {
	case !p.later:
		return Step{Label: "pre"}
	case p.step >= 0:
		s := x.steps[p.step]
		labels := make([]string, len(s.Phases))
		for i, phase := range s.Phases {
			labels[i] = phase.String()
		}
		return Step{
			Label: strings.Join(labels, ","), Phases: s.Phases, Set: s.Set,
			MaxUpdate: s.MaxUpdate.String(), About: s.About,
		}
	case p.phase >= 0:
		return Step{Label: p.phase.String(), Phases: []model.Phase{p.phase}}
	default:
		step := Step{Label: p.label()}
		if len(p.waves) == 1 {
			step.About = x.waves[p.waves[0]]
		}
		if x.computes && step.Label == Unordered {
			step.Purpose = "ladder generate orders it by sync waves, which it computes of what each requires"
		}
		return step
	}
}

// label names a place without a phase: its sync waves, unless they are Argo CD's default,
// and its RollingSync step.
func (p place) label() string {
	waves := model.Component{Waves: p.waves, Phase: model.NoPhase}
	step := model.Component{Phase: model.NoPhase, Step: p.rolling}
	switch {
	case p.rolling == 0:
		return cmp.Or(waves.Order(), Unordered)
	case slices.Equal(p.waves, []int{0}):
		return step.Order()
	default:
		return strings.TrimSpace(waves.Order() + " " + step.Order())
	}
}

// placement is every component in its step.
type placement struct {
	steps []Step
	// stepOf gives the index of a component's step, by index into the input; -1
	// for none.
	stepOf   []int
	unplaced []string // enabled ones only, sorted
	// phaseless are those of unplaced that have no phase.
	phaseless []string
}

// placeAll sorts components into steps. Steps and sync waves of the ladder file that
// match nothing are kept.
func placeAll(components []model.Component, l Ladder, unphased bool) (placement, error) {
	x := indexLadder(l)
	x.unphased = unphased
	x.parted = model.Parted(components)
	out := placement{stepOf: make([]int, len(components))}
	places := make([]place, len(components))
	used := make([]*place, len(x.steps))
	var distinct []place
	names := make(map[string]bool, len(components))
	for i := range components {
		c := &components[i]
		if names[c.Name] {
			return placement{}, fmt.Errorf("plan: two components are named %s; the second is at %s", strconv.Quote(c.Name), c.Position)
		}
		names[c.Name] = true
		p, ok := x.find(c)
		if !ok {
			out.stepOf[i] = -1
			if c.Enabled {
				out.unplaced = append(out.unplaced, c.Name)
				if phaseless(c) {
					out.phaseless = append(out.phaseless, c.Name)
				}
			}
			continue
		}
		places[i] = p
		distinct = append(distinct, p)
		if p.step >= 0 {
			used[p.step] = &places[i]
		}
	}
	for i := range x.steps {
		if used[i] == nil {
			distinct = append(distinct, place{later: true, waves: wavesNear(used, i), step: i, phase: model.NoPhase})
		}
	}
	distinct = append(distinct, x.emptyWaves(distinct)...)
	slices.SortFunc(distinct, place.compare)
	distinct = slices.CompactFunc(distinct, func(p, q place) bool { return p.compare(q) == 0 })
	sizes := make([]int, len(distinct))
	for i := range components {
		if out.stepOf[i] < 0 {
			continue
		}
		out.stepOf[i], _ = slices.BinarySearchFunc(distinct, places[i], place.compare)
		if components[i].Enabled {
			sizes[out.stepOf[i]]++
		}
	}
	for i, p := range distinct {
		s := x.step(p)
		s.Index = i + 1
		if p.step >= 0 {
			s.Limit = x.steps[p.step].MaxUpdate.Limit(sizes[i])
		}
		out.steps = append(out.steps, s)
	}
	slices.Sort(out.unplaced)
	slices.Sort(out.phaseless)
	return out, nil
}

// emptyWaves are places of the sync waves that the ladder file tells of and that no place
// has, nested ones included. It tells of waves only where a place is one wave by itself.
func (x ladderIndex) emptyWaves(places []place) []place {
	var empty []place
	if slices.ContainsFunc(places, func(p place) bool { return len(p.waves) == 1 }) {
		for n := range x.waves {
			if !slices.ContainsFunc(places, func(p place) bool { return slices.Contains(p.waves, n) }) {
				empty = append(empty, place{later: true, waves: []int{n}, step: -1, phase: model.NoPhase})
			}
		}
	}
	return empty
}

// wavesNear are the sync waves of a step that matches nothing: those of the step before
// it that matches something, else of the first behind it. used has a place of each step.
func wavesNear(used []*place, i int) []int {
	for k := i - 1; k >= 0; k-- {
		if used[k] != nil {
			return used[k].waves
		}
	}
	for _, p := range used[i+1:] {
		if p != nil {
			return p.waves
		}
	}
	return nil
}
