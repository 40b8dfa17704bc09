package generate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// stage is one RollingSync step, or one sync wave: a step of the plan, or a part
// of one.
type stage struct {
	label     string
	phases    []model.Phase
	set       string
	maxUpdate plan.MaxUpdate
	limit     int // as plan.Step has it
	// part of parts, from 1; parts is 0 where the step is whole.
	part, parts int
	wave        int
	components  []string
}

// preArgo is the label of the step that is applied before Argo CD exists.
const preArgo = "pre"

// arrange puts the components into stages and judges the edges against them.
func (b *builder) arrange() error {
	if err := b.unplaced(); err != nil {
		return err
	}
	for _, s := range b.in.Plan.Steps {
		if s.Label == preArgo && len(s.Phases) == 0 {
			continue
		}
		st := stage{label: s.Label, phases: s.Phases, set: s.Set, limit: s.Limit, maxUpdate: b.maxUpdate(s)}
		for _, name := range s.Components {
			if b.components[name] != nil {
				st.components = append(st.components, name)
			}
		}
		b.stages = append(b.stages, st)
	}
	var err error
	switch b.layout {
	case plan.Tiers:
		err = b.inTiers()
	case plan.AppOfApps:
		b.inWaves()
	default:
		err = b.byPhase()
	}
	if err != nil {
		return err
	}
	b.index()
	if err := b.judge(); err != nil {
		return err
	}
	if b.layout == plan.AppOfApps {
		err = b.numberWaves()
	} else {
		err = b.unambiguous()
	}
	if err != nil {
		return err
	}
	b.index()
	return nil
}

func (b *builder) index() {
	clear(b.stageOf)
	for i, s := range b.stages {
		for _, name := range s.components {
			b.stageOf[name] = i
		}
	}
}

// unplaced refuses components that no step matches: RollingSync would never sync
// them.
func (b *builder) unplaced() error {
	var problems []error
	for _, name := range b.in.Plan.Unplaced {
		if c := b.components[name]; c != nil {
			problems = append(problems, &LayoutError{
				Layout: string(b.layout), Reason: "no step matches " + name, Position: c.At("rolloutPhase"), Unordered: true,
				Hint: "give it a rolloutPhase that a step of ladder.yaml matches",
			})
		}
	}
	return errors.Join(problems...)
}

// maxUpdate finds what the ladder says of a step of the plan.
func (b *builder) maxUpdate(s plan.Step) plan.MaxUpdate {
	for _, l := range b.platform.Ladder.Steps {
		if l.Set == s.Set && len(s.Phases) > 0 && slices.Equal(l.Phases, s.Phases) {
			return l.MaxUpdate
		}
	}
	return plan.MaxUpdate{}
}

// byPhase checks that RollingSync can tell the stages apart: by phases.
func (b *builder) byPhase() error {
	var without []string
	var first *model.Component
	for _, s := range b.stages {
		for _, name := range s.components {
			if c := b.components[name]; c.Phase == model.NoPhase {
				without = append(without, name)
				if first == nil {
					first = c
				}
			}
		}
	}
	if first == nil {
		return nil
	}
	has := " has no phase"
	if len(without) > 1 {
		has = " have no phase"
	}
	return &LayoutError{
		Layout: string(b.layout), Reason: some(without) + has, Position: first.Position, Unordered: true,
		Hint: "RollingSync orders by phases: give each a rolloutPhase (ladder plan --suggest finds them), or use the layout app-of-apps",
	}
}

// mostNamed is how many names a message lists.
const mostNamed = 5

// some lists names, not all of many.
func some(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), len(names)-mostNamed)
}

// unambiguous checks that no two steps of one ApplicationSet match one label.
func (b *builder) unambiguous() error {
	var problems []error
	first := map[string]int{}
	for i, s := range b.stages {
		for _, p := range s.phases {
			key := fmt.Sprintf("%s %s %d", s.set, p, s.part)
			if b.layout == plan.Single {
				key = fmt.Sprintf("%s %d", p, s.part)
			}
			if other, ok := first[key]; ok {
				problems = append(problems, b.refuse(b.platform.Ladder.Position, "give every step phases of its own",
					"the phase %s is in two steps, %s and %s, which one ApplicationSet cannot tell apart", p, b.stages[other].where(), s.where()))
				continue
			}
			first[key] = i
		}
	}
	return errors.Join(problems...)
}

// where names a stage for people.
func (s stage) where() string {
	if s.set != "" {
		return s.label + " of " + s.set
	}
	return s.label
}

// sets are the tiers in parent order: those of the ladder, else the bands that
// are in use.
func (b *builder) sets() []string {
	if sets := b.platform.Ladder.Sets; len(sets) > 0 {
		return sets
	}
	var sets []string
	for _, s := range b.stages {
		if s.set != "" && !slices.Contains(sets, s.set) {
			sets = append(sets, s.set)
		}
	}
	return sets
}

// inTiers gives every stage its tier and sorts by it.
func (b *builder) inTiers() error {
	if err := b.byPhase(); err != nil {
		return err
	}
	l := b.platform.Ladder
	var problems []error
	if len(l.Sets) == 0 {
		for i := range b.stages {
			b.stages[i].set = bandOf(l, b.stages[i].phases)
		}
	}
	sets := b.sets()
	for _, s := range b.stages {
		if !slices.Contains(sets, s.set) {
			problems = append(problems, b.refuse(l.Position, "say tier: in the step, or give it phases of one band", "the step %s belongs to no tier", s.label))
		}
	}
	for _, set := range sets {
		if !isLabel(set) {
			problems = append(problems, b.refuse(l.Position, "", "the tier %q is not a name that an Application can have", set))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	slices.SortStableFunc(b.stages, func(x, y stage) int {
		return cmp.Compare(slices.Index(sets, x.set), slices.Index(sets, y.set))
	})
	return nil
}

// bandOf is the band that holds all of the phases; empty for none.
func bandOf(l plan.Ladder, phases []model.Phase) string {
	for _, band := range l.Bands {
		inside := func(p model.Phase) bool { return p >= band.From && p <= band.To }
		if len(phases) > 0 && !slices.ContainsFunc(phases, func(p model.Phase) bool { return !inside(p) }) {
			return band.Name
		}
	}
	return ""
}

// isLabel reports whether a text can be part of a name. Source: RFC 1123.
func isLabel(text string) bool {
	bad := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }
	return text != "" && len(text) <= 63 && !strings.ContainsFunc(text, bad) && text[0] != '-' && text[len(text)-1] != '-'
}

// judge compares the edges with the order of the stages, and parts stages that
// edges run inside of.
func (b *builder) judge() error {
	problems := b.cycles()
	inside := map[int][]plan.Edge{}
	for _, e := range b.in.Plan.Edges {
		from, known := b.stageOf[e.From]
		to, also := b.stageOf[e.To]
		switch {
		case !known || !also || b.inCycle(e):
		case to < from:
		case to > from && e.Strength == plan.Hard && b.suppressed(e) == "":
			problems = append(problems, b.edgeError(e, b.against(from, to)))
		case to > from:
			why := "it is left to retries"
			if e.Strength == plan.Hard {
				why = "it is suppressed: " + b.suppressed(e)
			}
			b.warn(position(e), "%s %s, but %s: %s", e.From, about(e), b.against(from, to), why)
		default:
			inside[from] = append(inside[from], e)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	return b.part(inside)
}

// suppressed is why an inferred edge is not to be believed: ladder.yaml suppresses,
// for its consumer, the findings of order. What is declared is believed.
func (b *builder) suppressed(e plan.Edge) string {
	if e.Basis == finding.Declared {
		return ""
	}
	for _, s := range b.platform.Lint.Suppress {
		if s.Component == e.From && strings.Contains(s.Rule, "-before-") {
			return s.Reason
		}
	}
	return ""
}

func (b *builder) edgeError(e plan.Edge, reason string) error {
	if e.Basis != finding.Declared && e.Reason != "" {
		reason = fmt.Sprintf("%s (it %s; where that is wrong, say why in lint.suppress)", reason, e.Reason)
	}
	return &EdgeError{From: e.From, To: e.To, Layout: string(b.layout), Reason: reason, Position: position(e)}
}

// about says in one phrase what an edge rests on.
func about(e plan.Edge) string {
	if e.Basis == finding.Declared {
		return e.Reason + " " + e.To
	}
	return "requires " + e.To + " (" + e.Reason + ")"
}

// position is where an edge is written, or what it was inferred from.
func position(e plan.Edge) finding.Position {
	for _, v := range e.Evidence {
		if v.File != "" {
			return finding.Position{File: v.File, Line: v.Line}
		}
	}
	return finding.Position{}
}

// against says how two stages stand to each other.
func (b *builder) against(from, to int) string {
	f, t := b.stages[from], b.stages[to]
	if b.layout == plan.Tiers && f.set != t.set {
		return fmt.Sprintf("the tier %s starts only when the tier %s is Healthy", t.set, f.set)
	}
	what := "step"
	if b.layout == plan.AppOfApps && len(t.phases) == 0 {
		what = "sync wave"
	}
	return fmt.Sprintf("the %s %s starts only when the %s %s is Healthy", what, t.label, what, f.label)
}

// cycles are the cycles of hard edges: whatever the order, one of them is not
// kept.
func (b *builder) cycles() []error {
	var problems []error
	for _, cycle := range b.in.Plan.Cycles {
		if len(cycle) < 2 {
			continue
		}
		e := plan.Edge{From: cycle[0], To: cycle[1]}
		for _, known := range b.in.Plan.Edges {
			if known.From == e.From && known.To == e.To && known.Strength == plan.Hard {
				e = known
				break
			}
		}
		problems = append(problems, b.edgeError(e, "they require each other: "+strings.Join(cycle, " -> ")))
	}
	return problems
}

func (b *builder) inCycle(e plan.Edge) bool {
	for _, cycle := range b.in.Plan.Cycles {
		if slices.Contains(cycle, e.From) && slices.Contains(cycle, e.To) {
			return true
		}
	}
	return false
}
