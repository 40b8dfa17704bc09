package argocd

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
)

// candidate is a component with the Application it stands for.
type candidate struct {
	component   model.Component
	document    document
	destination string
	// application is the index in the setup, -1 for none.
	application int
	// alone is set for an Application that nothing in the repository applies,
	// assumed for one that a set is only supposed to generate.
	alone, assumed bool
}

// component is that of an Application at a place.
func (w *walk) component(d document, at place) model.Component {
	if d.chart != nil {
		c := *d.chart
		c.Environment, c.Waves, c.Parents = w.environment.Name, at.waves, at.parents
		return c
	}
	c := w.repository.component(d, w.environment.Name, at.waves)
	c.Parents = at.parents
	if d.generated != nil {
		c.Set, c.Step, c.Phase = d.generated.set.name(), d.generated.step, phaseOf(d)
	}
	return c
}

// leaf adds the component of an Application that applies no Applications.
func (w *walk) leaf(d document, at place, index int) {
	w.add(w.component(d, at), destination(d), index)
	w.met[len(w.met)-1].document = d
}

func (w *walk) add(c model.Component, destination string, index int) {
	w.applied[c.Name] = true
	c.Solved = w.solved > 0
	w.met = append(w.met, candidate{component: c, destination: destination, application: index})
}

// disabled adds the Applications that are switched off by the name of their
// file and lie next to those of the environment: they keep their place.
func (w *walk) disabled() {
	for _, d := range w.repository.disabled {
		folder := path.Dir(d.position().File)
		own, ok := w.folders[folder]
		if !ok || w.applied[d.name()] {
			continue
		}
		c := w.component(d, own.below(w.owners[folder], w.repository.wave(d)))
		c.Enabled = false
		w.add(c, destination(d), -1)
	}
}

// finish names the components: Applications of one name with several
// destinations take these into their names; of others one counts.
func (w *walk) finish(ctx context.Context) []model.Component {
	places := map[string]map[string]bool{}
	for _, m := range w.met {
		if places[m.component.Name] == nil {
			places[m.component.Name] = map[string]bool{}
		}
		places[m.component.Name][m.destination] = true
	}
	kept := map[string]int{} // the place in all of each name
	var all []model.Component
	twice := sharing{}
	var alike overlaps
	leftToFirst := map[int]bool{}
	var left []model.Component
	alone, assumed := map[string]bool{}, map[string]bool{}
	documents := map[string]document{}
	stands := map[string]int{} // the Application in the setup that a name stands for; -1 for none
	for _, m := range w.met {
		c := m.component
		if len(places[c.Name]) > 1 {
			c.Name += "@" + m.destination
		}
		at, twiceNamed := kept[c.Name]
		if twiceNamed {
			other := all[at]
			if other.Position == c.Position && reflect.DeepEqual(other.Sources, c.Sources) {
				twice.add(other, c)
				continue
			}
			if m.assumed {
				left = append(left, c)
				continue
			}
			if assumed[c.Name] { // its name may be another one
				left = append(left, other)
				all[at], assumed[c.Name] = c, false
				alone[c.Name], documents[c.Name] = m.alone, m.document
				if first := stands[c.Name]; first >= 0 {
					w.setup.Applications[first].Component = ""
				}
				if stands[c.Name] = m.application; m.application >= 0 {
					w.setup.Applications[m.application].Component = c.Name
				}
				continue
			}
			if other.Set != "" && sameBySets(documents[c.Name], m.document) {
				one, loser, application := documents[c.Name], m.document, m.application
				sooner := len(c.Parents) > 0 && len(other.Parents) > 0 && c.Parents[0] == other.Parents[0] && slices.Compare(c.Waves, other.Waves) < 0
				if sooner {
					one, loser, application = m.document, documents[c.Name], stands[c.Name]
					all[at], documents[c.Name], stands[c.Name] = c, m.document, m.application
					w.setup.Applications[m.application].Component = c.Name
				}
				alike.add(one.generated.set, loser.generated.set, loser.name())
				leftToFirst[application] = true
				continue
			}
			// Of two that one parent applies the last counts. Source: Argo CD,
			// controller/state.go, DeduplicateTargetObjects.
			last := c.Set == "" && other.Set == "" && len(c.Parents) > 0 && slices.Equal(c.Parents, other.Parents) &&
				m.document.value.TextAt("metadata", "namespace") == documents[c.Name].value.TextAt("metadata", "namespace")
			f := descriptor.Duplicate(other, c)
			if last {
				f = descriptor.Overwritten(other, c)
			}
			if m.alone || alone[c.Name] {
				// Whether somebody applies both is not known.
				f.Severity = finding.Warning
			}
			if m.alone && alone[c.Name] && w.repository.isHanded(ctx, c.Position.File) && !w.repository.isHanded(ctx, other.Position.File) {
				last, f.Severity = true, finding.Info
				f.Message = fmt.Sprintf("duplicate name %s: a command applies this one, and none that at %s", c.Name, other.At("name"))
			}
			w.repository.findings = append(w.repository.findings, f)
			if !last {
				continue
			}
			all[at] = c
		} else {
			kept[c.Name], assumed[c.Name] = len(all), m.assumed
			all = append(all, c)
		}
		alone[c.Name], documents[c.Name], stands[c.Name] = m.alone, m.document, m.application
		if m.application >= 0 {
			w.setup.Applications[m.application].Component = c.Name
		}
	}
	w.repository.findings = append(w.repository.findings, twice.findings()...)
	w.repository.findings = append(w.repository.findings, alike.findings()...)
	w.leave(alike, leftToFirst)
	if len(left) > 0 {
		w.repository.findings = append(w.repository.findings, namesakes(left))
	}
	w.repository.findings = append(w.repository.findings, w.barren(all, documents)...)
	w.finishSetup(ctx, all)
	return all
}
