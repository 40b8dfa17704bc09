package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

const (
	rulePhaseMissing = "phase-missing"
	rulePhaseBand    = "phase-outside-band"
	ruleSlot         = "slot-mismatch"
)

// phaseField is the field of a descriptor that holds the phase.
const phaseField = "rolloutPhase"

// onLadder lists the components that a ladder of phases orders: those of
// descriptors, disabled ones included. It is empty where none of them has a phase.
func onLadder(in Input) []*model.Component {
	all := byPhase(in)
	if !slices.ContainsFunc(all, func(c *model.Component) bool { return c.Phase >= 0 }) {
		return nil
	}
	return all
}

// byPhase lists the components that have a phase or should have one: those of
// descriptors, without those that sync waves order.
func byPhase(in Input) []*model.Component {
	if in.Ladder.Layout == plan.AppOfApps || in.Ladder.Layout == plan.DependsOn {
		return nil
	}
	return withoutWaves(in)
}

// withoutWaves lists the components of descriptors that no sync wave orders, without those
// that nothing applies.
func withoutWaves(in Input) []*model.Component {
	var all []*model.Component
	for i := range in.Components {
		c := &in.Components[i]
		if !c.PreArgo && !c.Object && c.Set == "" && len(c.Waves) == 0 && !in.Ladder.NeverSynced(c) {
			all = append(all, c)
		}
	}
	return all
}

// aboutPhase is a finding about the phase of a component.
func aboutPhase(c *model.Component, rule string, severity finding.Severity, fix, format string, args ...any) finding.Finding {
	return finding.Finding{
		Rule: rule, Severity: severity, Scope: finding.Rule, Component: c.Name,
		Position: c.At(phaseField), Basis: finding.Declared,
		Message: fmt.Sprintf(format, args...), Fix: finding.Fix{Summary: fix},
	}
}

// milder is the severity for a component that may be disabled: it keeps its
// place, but nothing goes wrong before it is enabled.
func milder(c *model.Component) finding.Severity {
	if c.Enabled {
		return finding.Error
	}
	return finding.Warning
}

// phaseMissing finds components without a phase. One that is written and is no
// number is a finding of the rule phase-not-numeric.
func phaseMissing(in Input) []finding.Finding {
	var out []finding.Finding
	for _, c := range besideLadder(in) {
		out = append(out, aboutPhase(c, rulePhaseMissing, milder(c),
			"add a phase, as the other descriptors have one",
			"%s has no phase, so that no step of the ladder matches it, while step %d of ApplicationSet %s does", c.Name, c.Step, c.Set))
	}
	all := onLadder(in)
	if len(all) == 0 && len(out) == 0 && (in.Ladder.Layout == plan.Single || in.Ladder.Layout == plan.Tiers) {
		return nobodyHasAPhase(byPhase(in))
	}
	if in.Ladder.Layout == plan.AppOfApps {
		return partlyPhased(in)
	}
	for _, c := range all {
		if _, written := c.Fields[phaseField]; c.Phase < 0 && !written {
			waves := ""
			if _, written := c.Fields["syncWave"]; written {
				waves = fmt.Sprintf("; its syncWave orders nothing in the layout %s", in.Ladder.Layout)
			}
			out = append(out, aboutPhase(c, rulePhaseMissing, milder(c),
				fmt.Sprintf("add rolloutPhase: a phase of the band %s", bandName(in.Ladder, c)),
				"%s has no phase, so that no step matches it and Argo CD never syncs it%s", c.Name, waves))
		}
	}
	return out
}

// partlyPhased finds components without a phase and a sync wave beside others with a phase,
// where sync waves order: these follow the phases, and leave the others no place.
func partlyPhased(in Input) []finding.Finding {
	all := withoutWaves(in)
	if !slices.ContainsFunc(all, func(c *model.Component) bool { return c.Phase >= 0 }) {
		return nil
	}
	var out []finding.Finding
	for _, c := range all {
		if _, written := c.Fields[phaseField]; c.Phase < 0 && !written {
			out = append(out, aboutPhase(c, rulePhaseMissing, milder(c),
				"give it a rolloutPhase or a syncWave, or none a phase: then Ladder computes the sync waves of all",
				"%s has no phase, so that it has no place among the others, which have: ladder generate refuses it", c.Name))
		}
	}
	return out
}

// besideLadder lists the components without a phase that the steps of an ApplicationSet
// match by something else, where other descriptors have phases: the ladder goes by these.
func besideLadder(in Input) []*model.Component {
	if in.Ladder.Layout == plan.AppOfApps || in.Ladder.Layout == plan.DependsOn {
		return nil
	}
	phases := false
	var all []*model.Component
	for i := range in.Components {
		c := &in.Components[i]
		if c.PreArgo || c.Object || len(c.Waves) > 0 {
			continue
		}
		_, written := c.Fields[phaseField]
		phases = phases || c.Phase >= 0
		if c.Phase < 0 && !written && c.Set != "" && c.Step > 0 {
			all = append(all, c)
		}
	}
	if !phases {
		return nil
	}
	return all
}

// WithoutPhases is the finding that nobody has a phase, at its level, where RollingSync
// orders by phases.
func WithoutPhases(in Input, o Options) []finding.Finding {
	if len(onLadder(in)) > 0 || in.Ladder.Layout != plan.Single && in.Ladder.Layout != plan.Tiers {
		return nil
	}
	return Settle(nobodyHasAPhase(byPhase(in)), o)
}

// nobodyHasAPhase is one finding for all: they have one cause.
func nobodyHasAPhase(all []*model.Component) []finding.Finding {
	if len(all) == 0 {
		return nil
	}
	first := slices.MinFunc(all, func(a, b *model.Component) int {
		if a.Enabled != b.Enabled {
			if a.Enabled {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	if slices.ContainsFunc(all, func(c *model.Component) bool { _, written := c.Fields[phaseField]; return written }) {
		return nil // what is written and is no phase has a finding
	}
	return []finding.Finding{aboutPhase(first, rulePhaseMissing, milder(first),
		"add a rolloutPhase to each (ladder plan --suggest finds them), or write layout: app-of-apps in ladder.yaml, which orders by sync waves that Ladder computes",
		"none of the %s has a phase, so that RollingSync has nothing to order by and ladder generate refuses them", finding.Count(len(all), "component"))}
}

func bandName(l plan.Ladder, c *model.Component) string {
	if b, ok := bandNamed(l, c.Domain); ok {
		return fmt.Sprintf("%s (%s to %s)", b.Name, b.From, b.To)
	}
	return "of its domain"
}

func bandNamed(l plan.Ladder, name string) (plan.Band, bool) {
	i := slices.IndexFunc(l.Bands, func(b plan.Band) bool { return b.Name == name })
	if i < 0 {
		return plan.Band{}, false
	}
	return l.Bands[i], true
}

func bandAt(l plan.Ladder, p model.Phase) (plan.Band, bool) {
	i := slices.IndexFunc(l.Bands, func(b plan.Band) bool { return p >= b.From && p <= b.To })
	if p < 0 || i < 0 {
		return plan.Band{}, false
	}
	return l.Bands[i], true
}

// followed are the bands that the components keep. Bands that nobody wrote say nothing
// of a platform of which most lies outside of them: it counts its phases otherwise.
func followed(in Input) []plan.Band {
	if !in.Ladder.Assumed {
		return in.Ladder.Bands
	}
	within, outside := 0, 0
	for _, c := range onLadder(in) {
		own, owned := bandNamed(in.Ladder, c.Domain)
		switch {
		case c.Phase < 0 || !owned:
		case c.Phase >= own.From && c.Phase <= own.To || inFolderOf(in.Ladder, c):
			within++
		default:
			outside++
		}
	}
	if outside > within {
		return nil
	}
	return in.Ladder.Bands
}

// inFolderOf reports whether a component whose domain is only that of its first folder,
// or its tier, lies in a folder that has the name of the band of its phase, such as
// platform/observability or data/extended.
func inFolderOf(l plan.Ladder, c *model.Component) bool {
	here, inside := bandAt(l, c.Phase)
	if at, written := c.Fields["domain"]; !inside || written && at != c.Fields["tier"] {
		return false
	}
	return strings.Contains("-"+strings.ReplaceAll(c.Position.File, "/", "-"), "-"+here.Name+"-")
}

// phaseOutsideBand finds phases outside the band of their domain, or outside
// every band.
func phaseOutsideBand(in Input) []finding.Finding {
	if len(in.Ladder.Bands) == 0 {
		return nil
	}
	var out []finding.Finding
	for _, c := range onLadder(in) {
		if c.Phase < 0 {
			continue
		}
		own, owned := bandNamed(in.Ladder, c.Domain)
		if _, written := c.Fields["domain"]; !written {
			owned = false // its folder says where it lies, not when it runs
		}
		here, inside := bandAt(in.Ladder, c.Phase)
		switch {
		case owned && c.Phase >= own.From && c.Phase <= own.To, inFolderOf(in.Ladder, c):
		case owned && inside:
			out = append(out, aboutPhase(c, rulePhaseBand, finding.Warning,
				fmt.Sprintf("choose a phase from %s to %s, or make %s the domain", own.From, own.To, here.Name),
				"%s belongs to %s (%s to %s), but its phase %s lies in the band %s", c.Name, own.Name, own.From, own.To, c.Phase, here.Name))
		case owned:
			out = append(out, aboutPhase(c, rulePhaseBand, finding.Warning,
				fmt.Sprintf("choose a phase from %s to %s", own.From, own.To),
				"%s belongs to %s (%s to %s), but its phase %s lies in no band", c.Name, own.Name, own.From, own.To, c.Phase))
		case !inside:
			out = append(out, aboutPhase(c, rulePhaseBand, finding.Warning, "choose a phase of a band, or add a band to ladder.yaml",
				"the phase %s of %s lies in no band", c.Phase, c.Name))
		}
	}
	return out
}

// slotted is a band with slots: a hundred phases that begin at a full hundred.
// The bands of a layout with phases 0 to 55 are too narrow for slots.
func slotted(b plan.Band) bool { return b.From%100 == 0 && b.To-b.From >= 99 }

// slotOf is the offset of a phase in its band; ok is false where the band has no
// slots.
func slotOf(l plan.Ladder, c *model.Component) (offset int, ok bool) {
	b, inside := bandAt(l, c.Phase)
	if !inside || !slotted(b) {
		return 0, false
	}
	return int(c.Phase) % 100, true
}

// slots are the offsets of the slots that decide about others.
type slots struct{ operators, secrets, runtimes, smokes int }

func slotsOf(l plan.Ladder) slots {
	s := slots{operators: 20, secrets: 30, runtimes: 50, smokes: 99}
	for _, slot := range l.Slots {
		for _, t := range slot.Types {
			switch t {
			case model.Operator:
				s.operators = slot.Offset
			case model.Secrets:
				s.secrets = slot.Offset
			case model.Runtime:
				s.runtimes = slot.Offset
			case model.Smoke:
				s.smokes = slot.Offset
			default:
			}
		}
	}
	return s
}

// slotMismatch finds components whose written type cannot stand in their slot.
// Phases between two slots are free: only what contradicts the meaning of the
// types, or the types that ladder.yaml gives the band, counts.
func slotMismatch(in Input) []finding.Finding {
	var out []finding.Finding
	s := slotsOf(in.Ladder)
	for _, c := range onLadder(in) {
		if _, written := c.Fields["componentType"]; !written {
			continue
		}
		fix, why := "", ""
		if b, _ := bandAt(in.Ladder, c.Phase); len(b.Types) > 0 && !slices.Contains(b.Types, c.Type) {
			fix, why = "choose a phase of another band", fmt.Sprintf("the band %s is for %v alone", b.Name, b.Types)
		} else if offset, ok := slotOf(in.Ladder, c); ok {
			var want [2]int
			why, want = s.against(c.Type, offset)
			base := c.Phase - c.Phase%100
			fix = fmt.Sprintf("choose a phase from %s to %s", base+model.Phase(want[0]), base+model.Phase(want[1]))
		}
		if why != "" {
			f := aboutPhase(c, ruleSlot, finding.Warning, fix+", or correct componentType", "%s is of type %s and stands at %s: %s", c.Name, c.Type, c.Phase, why)
			f.Evidence = append(f.Evidence, finding.Evidence{
				Text: "componentType " + string(c.Type), File: c.At("componentType").File, Line: c.At("componentType").Line, Field: "componentType",
			})
			out = append(out, f)
		}
	}
	return out
}

// against says why a type cannot stand at an offset, and where it can; why is
// empty where it can.
func (s slots) against(t model.Type, offset int) (why string, want [2]int) {
	last := s.smokes - 1
	switch t {
	case model.Namespaces, model.CRDs:
		if offset >= s.operators {
			return "what needs them may come at any time from the operators on", [2]int{0, s.operators - 1}
		}
	case model.Operator:
		want = [2]int{s.operators, s.runtimes - 1}
		switch {
		case offset < s.operators:
			return "its CRDs come in these phases, and it cannot run before them", want
		case offset > s.runtimes:
			return "runtimes that need it come earlier", want
		}
	case model.Secrets, model.Config:
		want = [2]int{s.secrets, last}
		switch {
		case offset <= s.operators:
			return "the operators that its objects are for are not there yet", want
		case offset > last:
			return "this slot is for smokes alone", want
		}
	case model.Runtime:
		want = [2]int{s.runtimes, last}
		switch {
		case offset < s.runtimes:
			return "secrets and configuration of its band may come after it", want
		case offset > last:
			return "this slot is for smokes alone", want
		}
	case model.Bootstrap:
		want = [2]int{s.runtimes + 1, last}
		switch {
		case offset <= s.operators:
			return "nothing that it could talk to runs yet", want
		case offset >= s.secrets && offset <= s.runtimes:
			return "the runtimes that it talks to are not up before the step ends", want
		case offset > last:
			return "this slot is for smokes alone", want
		}
	default:
	}
	return "", want
}
