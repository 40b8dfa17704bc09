package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const (
	ruleGeneratedWave = "wave-on-generated-application"
	ruleAppHealth     = "application-health-not-assessed"
	ruleMisplaced     = "wave-misplaced"
)

// waveOnGenerated finds sync waves that an ApplicationSet stamps on its
// Applications. The controller creates those itself, all at once or by
// RollingSync; only a sync reads the annotation, and none applies them.
func waveOnGenerated(in Input) []finding.Finding {
	var out []finding.Finding
	off := isProgressiveOff(in.Argo.Settings)
	for _, set := range in.Argo.ApplicationSets {
		w := set.TemplateWave
		if w.Written == "" {
			continue
		}
		f := aboutSet(set, ruleGeneratedWave, w.Position,
			"ApplicationSet %s stamps %s on the Applications that it generates, which orders nothing", set.Name, stamped(w))
		f.Fix.Summary = "put the annotation on the ApplicationSet itself, or order its Applications with RollingSync steps"
		switch {
		case isNumber(w.Written) && set.Wave.Value == w.Value && (set.Wave.Written == "" || isNumber(set.Wave.Written)):
			f.Severity = finding.Info
			f.Message += "; the same wave on the ApplicationSet itself does"
			f.Fix.Summary = "drop the annotation of the template"
		case set.RollingSync && len(set.Steps) > 0 && !off:
			f.Severity = finding.Info
			f.Message += "; its RollingSync steps do"
			f.Fix.Summary = "drop the annotation of the template"
		}
		out = append(out, f)
	}
	return out
}

// stamped names the wave of a template, or the waves that a patch of it gives.
func stamped(w argo.Wave) string {
	if strings.Contains(w.Written, " to ") {
		return "sync waves " + w.Written
	}
	return "sync wave " + w.Written
}

// aboutSet is a warning about one ApplicationSet.
func aboutSet(set argo.ApplicationSet, rule string, at finding.Position, format string, args ...any) finding.Finding {
	if at.File == "" {
		at = set.Position
	}
	return finding.Finding{
		Rule: rule, Severity: finding.Warning, Scope: finding.Rule, Component: set.Name,
		Resource: finding.Resource{Group: "argoproj.io", Kind: "ApplicationSet", Namespace: set.Namespace, Name: set.Name},
		Position: at, Basis: finding.Declared, Message: fmt.Sprintf(format, args...),
	}
}

// sibling is an Application or ApplicationSet that a parent applies.
type sibling struct {
	name        string
	wave        argo.Wave
	application bool
	position    finding.Position
}

// applicationHealth finds parents whose sync waves do not wait: since Argo CD
// 1.8 the health of an Application is assessed only where argocd-cm has a script
// for it, and a kind that nobody assesses counts as Healthy at once. Source: Argo
// CD, operator manual, "Resource Health", "Argocd App".
//
// An ApplicationSet is Healthy once it has generated, whoever assesses Applications: see
// generatedHealth.
func applicationHealth(in Input) []finding.Finding {
	var out []finding.Finding
	told := map[string]bool{}
	if !in.Argo.Settings.Assesses("argoproj.io", "Application") {
		out = append(out, wavesOfParents(in.Argo, told)...)
		out = append(out, stepsOfParents(in.Argo)...)
	}
	return append(out, generatedHealth(in, told)...)
}

// wavesOfParents finds the parents whose waves do not wait, and says which it told of. All
// have one cause: the first speaks.
func wavesOfParents(setup argo.Setup, told map[string]bool) []finding.Finding {
	children := map[string][]sibling{}
	applications := slices.Concat(setup.Applications, setup.Above)
	for _, a := range applications {
		if a.Parent != "" && a.Set == "" {
			children[a.Parent] = append(children[a.Parent], sibling{a.Name, a.Wave, true, a.Position})
		}
	}
	for _, set := range setup.ApplicationSets {
		if set.Parent != "" {
			children[set.Parent] = append(children[set.Parent], sibling{set.Name, set.Wave, false, set.Position})
		}
	}
	var found []finding.Finding
	for _, parent := range applications {
		first, last, ok := gated(children[parent.Name])
		if !ok {
			continue
		}
		f := aboutApplication(parent, ruleAppHealth, finding.Warning,
			"the sync waves below %s do not wait: nothing assesses the health of Applications, so %s (wave %d) counts as Healthy as soon as it is created, before %s (wave %d)",
			parent.Name, first.name, first.wave.Value, last.name, last.wave.Value)
		f.Evidence = append(f.Evidence,
			where(waveAt(first), "%s has wave %d", first.name, first.wave.Value),
			where(waveAt(last), "%s has wave %d", last.name, last.wave.Value))
		found = append(found, f)
		told[parent.Name] = true
		delete(children, parent.Name)
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortStableFunc(found, func(a, b finding.Finding) int {
		return cmp.Or(a.Position.Compare(b.Position), strings.Compare(a.Component, b.Component))
	})
	f := found[0]
	alsoBelow(&f, found[1:])
	unassessedBy(&f, setup.Settings)
	return []finding.Finding{f}
}

// alsoBelow adds to the finding of one parent that it is so below others.
func alsoBelow(f *finding.Finding, others []finding.Finding) {
	if len(others) == 0 {
		return
	}
	var names []string
	for _, other := range others[:min(len(others), named)] {
		names = append(names, other.Resource.Name)
		f.Evidence = append(f.Evidence, where(other.Position, "the sync waves below %s do not wait either", other.Resource.Name))
	}
	if more := len(others) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	last := len(names) - 1
	if last > 0 {
		names = []string{strings.Join(names[:last], ", ") + " and " + names[last]}
	}
	f.Message += "; nor do those below " + names[0]
}

// stepsOfParents finds RollingSync steps that do not wait for what the parents of an
// earlier step apply: a parent is Healthy once it has created its Applications.
func stepsOfParents(setup argo.Setup) []finding.Finding {
	holds := map[string]argo.Application{}
	for _, a := range setup.Applications {
		if _, known := holds[a.Parent]; !known && a.Parent != "" && a.Set == "" {
			holds[a.Parent] = a
		}
	}
	var out []finding.Finding
	for _, g := range generated(setup) {
		first, last := len(g.set.Steps), -1 // of a parent, of anything
		var parent argo.Application
		for _, app := range g.applications {
			steps := g.steps(app)
			if len(steps) == 0 {
				continue
			}
			last = max(last, steps[0])
			if _, isParent := holds[app.Name]; isParent && steps[0] < first {
				first, parent = steps[0], app
			}
		}
		if first >= last {
			continue
		}
		child := holds[parent.Name]
		f := aboutSet(g.set, ruleAppHealth, g.set.Steps[first].Position,
			"the RollingSync steps of %s do not wait for what %s applies: nothing assesses the health of Applications, so %s (step %d) is Healthy as soon as it has created %s, before step %d",
			g.set.Name, parent.Name, parent.Name, first+1, child.Name, last+1)
		f.Evidence = append(f.Evidence, where(child.Position, "%s applies %s", parent.Name, child.Name))
		unassessedBy(&f, setup.Settings)
		out = append(out, f)
	}
	return out
}

// unassessedBy says why the health of Applications is not assessed, and how it would
// be. Where the settings are elsewhere, it may be.
func unassessedBy(f *finding.Finding, s argo.Settings) {
	f.Fix.Summary = "add " + argo.ApplicationHealthKey + " to argocd-cm"
	for _, x := range s.Stray {
		if x.Key == argo.ApplicationHealthKey {
			f.Evidence = append(f.Evidence, where(x.Position, "the health check stands in %s, where nothing reads it", x.In))
		}
	}
	if s.Known {
		f.Evidence = append(f.Evidence, where(s.Position, "these settings of Argo CD have no health check for argoproj.io/Application"))
		if s.Whole.File == "" {
			f.Message += ", unless what installs Argo CD, which is not in this repository, has it checked"
		}
		return
	}
	f.Severity = finding.Info
	f.Message += "; nothing in this repository is known to set argocd-cm, which may have the check"
}

func waveAt(s sibling) finding.Position {
	if s.wave.Position.File != "" {
		return s.wave.Position
	}
	return s.position
}

// gated finds an Application that a sync would have to wait for before it goes
// on: the one of the least wave, and something of a later wave.
func gated(all []sibling) (first, last sibling, ok bool) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b sibling) int {
		if a.wave.Value != b.wave.Value {
			return a.wave.Value - b.wave.Value
		}
		return strings.Compare(a.name, b.name)
	})
	i := slices.IndexFunc(all, func(s sibling) bool { return s.application })
	if i < 0 {
		return first, last, false
	}
	first, last = all[i], all[len(all)-1]
	return first, last, first.wave.Value < last.wave.Value
}

// isNumber reports whether Argo CD takes a wave as it is written.
func isNumber(wave string) bool {
	_, err := strconv.Atoi(wave)
	return err == nil
}

// waveMisplaced finds sync waves that Argo CD does not see.
func waveMisplaced(in Input) []finding.Finding {
	var out []finding.Finding
	for _, m := range in.Argo.Misplaced {
		inside := m.Object.Human()
		if m.Template {
			inside = "the template of " + inside
		}
		name := m.Component
		if name == "" {
			name = m.Object.Name
		}
		message, fix := fmt.Sprintf("%s stands in metadata of %s, not in metadata.annotations, and says nothing there", waveKey, inside), "move it below metadata.annotations, as a quoted number"
		switch m.In {
		case "labels":
			message = fmt.Sprintf("%s is a label of %s, not an annotation, and says nothing there", waveKey, inside)
		case "annotations":
			message, fix = fmt.Sprintf("%s of %s says nothing: the annotation of sync waves is %s", m.Key, inside, waveKey), "correct the name of the annotation"
		}
		out = append(out, finding.Finding{
			Rule: ruleMisplaced, Severity: finding.Error, Scope: finding.Rule, Component: name,
			Resource: m.Object, Position: m.Position, Basis: finding.Declared, Message: message, Fix: finding.Fix{Summary: fix},
		})
	}
	return out
}
