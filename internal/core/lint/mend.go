package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// The keys of what is mended mechanically.
const (
	waveKey        = "argocd.argoproj.io/sync-wave"
	syncOptionsKey = "argocd.argoproj.io/sync-options"
)

// mend proposes edits for findings that can be mended mechanically and whose rule
// proposed none.
func mend(in Input, found []finding.Finding) {
	m := mender{in: in, order: newOrder(in), applications: map[string]argo.Application{}}
	for _, a := range in.Argo.Applications {
		if a.Component != "" {
			m.applications[a.Component] = a
		}
	}
	for i, f := range found {
		if len(f.Fix.Edits) == 0 && f.Fix.Patch == "" {
			found[i].Fix.Edits, found[i].Fix.ByHand = m.propose(f)
			found[i].Fix.Moves = f.Scope == finding.Cross && len(found[i].Fix.Edits) > 0
		}
	}
}

type mender struct {
	in Input
	// applications by the name of their component.
	applications map[string]argo.Application
	order        *order
}

// propose returns the edits that mend a finding, or says what has to be mended by hand.
func (m *mender) propose(f finding.Finding) (edits []finding.Edit, byHand *finding.ByHand) {
	switch {
	case f.Rule == "wave-not-a-string" && strings.HasPrefix(f.Fix.Summary, "quote it"):
		return m.quoteWave(f), nil
	case f.Rule == ruleMisplaced:
		return m.moveWave(f), nil
	case f.Rule == ruleDependsOn:
		return m.dropDependsOn(f), nil
	case f.Rule == ruleDryRun:
		return m.skipDryRun(f), nil
	case f.Scope == finding.Cross && f.Severity == finding.Error && f.Provider != "" && (strings.HasSuffix(f.Rule, "-before-use") || f.Rule == ruleDeclared):
		return m.later(f)
	default:
		return nil, nil
	}
}

func edit(op finding.EditOp, at finding.Position, value string, path ...string) finding.Edit {
	return finding.Edit{File: at.File, Line: at.Line, Op: op, Path: path, Value: value}
}

// quoteWave quotes a sync wave that is written as a number.
func (m *mender) quoteWave(f finding.Finding) []finding.Edit {
	path := []string{"metadata", "annotations", waveKey}
	for _, s := range m.in.Argo.ApplicationSets {
		if s.TemplateWave.Position == f.Position {
			path = append([]string{"spec", "template"}, path...)
		}
	}
	return []finding.Edit{edit(finding.Quote, f.Position, "", path...)}
}

// moveWave puts a sync wave that stands elsewhere in metadata among the annotations.
func (m *mender) moveWave(f finding.Finding) []finding.Edit {
	for _, w := range m.in.Argo.Misplaced {
		if w.Position != f.Position {
			continue
		}
		metadata := []string{"metadata"}
		if w.Template {
			metadata = []string{"spec", "template", "metadata"}
		}
		e := edit(finding.Move, f.Position, "", append(slices.Clone(metadata), "annotations", waveKey)...)
		e.From = slices.Clone(metadata)
		if w.In != "" {
			e.From = append(e.From, w.In)
		}
		e.From = append(e.From, w.Key)
		return []finding.Edit{e}
	}
	return nil
}

// dropDependsOn removes a field that Argo CD does not have.
func (m *mender) dropDependsOn(f finding.Finding) []finding.Edit {
	for _, a := range slices.Concat(m.in.Argo.Applications, m.in.Argo.Above) {
		if a.DependsOn != f.Position {
			continue
		}
		path := []string{"spec", "dependsOn"}
		if a.Set != "" {
			path = []string{"spec", "template", "spec", "dependsOn"}
		}
		return []finding.Edit{edit(finding.Remove, f.Position, "", path...)}
	}
	return nil
}

// skipDryRun annotates an object whose kind is not there yet, and puts it into a
// wave after what brings the kind.
func (m *mender) skipDryRun(f finding.Finding) []finding.Edit {
	var of []dependency.Dependency
	for _, d := range m.in.Dependencies {
		if d.Rule == ruleCRD && d.Within() && d.Consumer.Component == f.Component && d.Consumer.Position == f.Position {
			of = append(of, d)
		}
	}
	if len(of) == 0 {
		return nil
	}
	// A template may make several objects at one place.
	consumer := slices.MinFunc(of, func(a, b dependency.Dependency) int {
		return strings.Compare(a.Consumer.Object.String(), b.Consumer.Object.String())
	}).Consumer
	late, wave := false, 0 // the last provider that is not before it
	for _, d := range of {
		if d.Consumer.Object != consumer.Object {
			continue
		}
		if d.Consumer.Place.Compare(d.Provider.Place) <= 0 && d.Consumer.Place.Hook == d.Provider.Place.Hook && (!late || d.Provider.Place.Wave > wave) {
			late, wave = true, d.Provider.Place.Wave
		}
	}
	options := []string{skipDryRun}
	for _, o := range m.in.Objects {
		if o.Component == consumer.Component && o.Resource == consumer.Object {
			options = append(slices.Clone(o.SyncOptions), options...)
		}
	}
	edits := []finding.Edit{edit(finding.Set, f.Position, strings.Join(options, ","), "metadata", "annotations", syncOptionsKey)}
	if late {
		edits = append(edits, edit(finding.Set, f.Position, fmt.Sprintf(`"%d"`, wave+1), "metadata", "annotations", waveKey))
	}
	return edits
}

// later gives the consumer of a finding a place after everything that it
// requires, where that puts it before nothing that requires it: another sync wave
// beside its siblings, or the next phase of its band and slot.
func (m *mender) later(f finding.Finding) (edits []finding.Edit, byHand *finding.ByHand) {
	consumer, provider, ok := m.order.pair(f.Component, f.Provider)
	if !ok || consumer.PreArgo {
		return nil, nil
	}
	if len(consumer.Waves) > 0 {
		return m.laterWave(consumer, provider)
	}
	return m.laterPhase(consumer), nil
}

// laterWave moves an Application among those of its parent. A value of a chart may write
// the waves of others too, so that people move what it places.
func (m *mender) laterWave(consumer, provider *model.Component) (edits []finding.Edit, byHand *finding.ByHand) {
	a, written := m.applications[consumer.Name]
	if !written || a.Set != "" || !siblings(consumer, provider) || consumer.AppOfApps && slices.Contains(provider.Parents, consumer.Name) {
		return nil, nil // an object of the parent's own is what has to move
	}
	last := len(consumer.Waves) - 1
	wave := consumer.Waves[last]
	for _, i := range m.order.hard().Requires(m.order.number[consumer.Name] - 1) {
		if p := m.order.enabled[i]; siblings(consumer, p) {
			wave = max(wave, p.Waves[last]+1)
		}
	}
	if wave == consumer.Waves[last] {
		return nil, nil
	}
	moved := *consumer
	moved.Waves = append(slices.Clone(consumer.Waves[:last]), wave)
	if !m.fits(&moved) {
		return nil, nil
	}
	switch {
	case a.Wave.Of != "" && a.Wave.Template:
		return nil, &finding.ByHand{Position: a.Wave.Position, Text: fmt.Sprintf("this template makes the sync wave of %s of %s: write %d where the values say that", consumer.Name, a.Wave.Of, wave)}
	case a.Wave.Of != "":
		return nil, &finding.ByHand{Position: a.Wave.Position, Text: fmt.Sprintf("the value %s is the sync wave of %s: write %d", a.Wave.Of, consumer.Name, wave)}
	}
	at := a.Wave.Position
	if at.File == "" {
		at = a.Position
	}
	return []finding.Edit{edit(finding.Set, at, fmt.Sprintf(`"%d"`, wave), "metadata", "annotations", waveKey)}, nil
}

// siblings reports whether one parent applies both components.
func siblings(a, b *model.Component) bool {
	last := len(a.Waves) - 1
	return last >= 0 && len(b.Waves) == len(a.Waves) && slices.Equal(a.Waves[:last], b.Waves[:last]) && slices.Equal(a.Parents, b.Parents)
}

// laterPhase moves a descriptor to a phase that the ladder has.
func (m *mender) laterPhase(consumer *model.Component) []finding.Edit {
	at, written := consumer.Fields["rolloutPhase"]
	if !written || consumer.Phase < 0 || consumer.Set != "" || m.in.Ladder.Layout == plan.Tiers {
		return nil
	}
	var phases []model.Phase
	for _, s := range m.in.Ladder.Steps {
		phases = append(phases, s.Phases...)
	}
	slices.Sort(phases)
	for _, phase := range phases {
		moved := *consumer
		moved.Phase = phase
		if phase > consumer.Phase && inBand(m.in.Ladder, &moved) && inSlot(m.in.Ladder, &moved) && m.fits(&moved) {
			return []finding.Edit{edit(finding.Set, at, fmt.Sprintf(`"%s"`, phase), consumer.PhaseField())}
		}
	}
	return nil
}

// fits reports whether a component that has moved stands after all that it
// requires, and before all that requires it.
func (m *mender) fits(moved *model.Component) bool {
	o, number := m.order, m.order.number[moved.Name]-1
	for _, i := range o.hard().Requires(number) {
		if m.moved(o.enabled[i], moved) >= 0 {
			return false
		}
	}
	for _, i := range o.hard().Dependants(number) {
		was, is := o.compare(o.enabled[i], o.enabled[number]), m.moved(o.enabled[i], moved)
		if was > 0 && is <= 0 || was == 0 && is < 0 {
			return false
		}
	}
	return true
}

// moved compares the place of a component with the new one of another.
func (m *mender) moved(other, moved *model.Component) int {
	if len(moved.Waves) == 0 && len(other.Waves) == 0 && !other.PreArgo {
		return int(other.Phase - moved.Phase)
	}
	return model.Compare(other, moved)
}

// inBand reports whether a component stands in the band of its domain; one of a
// domain that has none may stand anywhere.
func inBand(l plan.Ladder, c *model.Component) bool {
	for _, b := range l.Bands {
		if b.Name == c.Domain {
			return b.From <= c.Phase && c.Phase <= b.To
		}
	}
	return true
}

// inSlot reports whether a component stands in a slot for its type.
func inSlot(l plan.Ladder, c *model.Component) bool {
	for _, s := range l.Slots {
		if int(c.Phase)%100 == s.Offset {
			return slices.Contains(s.Types, c.Type)
		}
	}
	return false
}
