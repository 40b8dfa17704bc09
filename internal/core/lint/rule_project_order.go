package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

const ruleProjectLate = "project-before-use"

// projectBeforeUse finds Applications, and sets of them, that are applied in a wave before
// that of their AppProject. Argo CD compares and syncs nothing of an Application whose
// project is not there, so that it does not become Healthy. Where a parent of the Application is in the
// project, or in one that comes with it or later, this is there before. Source: argo-cd, util/argo,
// ValidatePermissions.
func projectBeforeUse(in Input) []finding.Finding {
	places := newPlaces(in.Argo)
	out := lockedProjects(in)
	for _, p := range in.Argo.Projects {
		if p.Parent == "" || p.Name == "default" || slices.ContainsFunc(in.Argo.Projects, func(o argo.Project) bool { return o.Name == p.Name && o.Position != p.Position }) {
			continue
		}
		var early []tooEarly
		for _, a := range in.Argo.Applications {
			if a.Project != p.Name || a.Assumed || a.Set != "" || places.parentWaits(a, p, in.Argo.Projects) {
				continue
			}
			if project, application, later := later(places.ofProject(p), places.of(a)); later {
				early = append(early, tooEarly{a, application, project})
			}
		}
		if len(early) > 0 {
			out = append(out, lateProject(in.Argo.Settings, p, early))
		}
		out = append(out, places.setsBefore(in.Argo, p)...)
	}
	return out
}

// setsBefore finds the ApplicationSets whose parent applies the project of what they
// generate in a later wave. The controller generates nothing for a project that is not there
// and the set is Degraded, which the sync of the parent waits for. Source: argo-cd,
// applicationset/controllers, validateGeneratedApplications, and the health of
// ApplicationSets.
func (p places) setsBefore(setup argo.Setup, project argo.Project) []finding.Finding {
	var out []finding.Finding
	for _, set := range setup.ApplicationSets {
		if set.Parent != project.Parent || set.Wave.Value >= project.Wave.Value {
			continue
		}
		in := func(a argo.Application) bool { return a.Set == set.Name && a.Project == project.Name && !a.Assumed }
		if p[set.Parent].Project == project.Name || !slices.ContainsFunc(setup.Applications, in) {
			continue
		}
		f := aboutSet(set, ruleProjectLate, set.Wave.Position,
			"ApplicationSet %s (wave %d) generates Applications of AppProject %s, which is applied later (wave %d): it generates nothing before the project is there and is Degraded, and the sync of %s does not go on",
			set.Name, set.Wave.Value, project.Name, project.Wave.Value, project.Parent)
		f.Severity = finding.Error
		f.Evidence = append(f.Evidence, where(project.Position, "AppProject %s stands at wave %d", project.Name, project.Wave.Value))
		f.Fix.Summary = "give AppProject " + project.Name + " an earlier sync wave than ApplicationSet " + set.Name
		out = append(out, f)
	}
	return out
}

// missingProjects finds Applications of an AppProject that nothing makes, where there is one
// of nearly the same name, or one of a word more or less that no Application is in. Argo CD syncs no Application without its project, and generates none.
func missingProjects(in Input) []finding.Finding {
	setup := in.Argo
	made := map[string]bool{}
	for _, p := range setup.Projects {
		made[p.Name] = true
	}
	for _, o := range in.Objects { // those of charts of other things than Applications
		if o.Resource.Group == "argoproj.io" && o.Resource.Kind == "AppProject" {
			made[o.Resource.Name] = true
		}
	}
	// A folder elsewhere that goes where Argo CD runs may hold more projects.
	hidden := slices.ContainsFunc(in.Components, func(c model.Component) bool {
		return slices.Contains([]string{"argocd", "argo-cd", "openshift-gitops"}, c.Namespace) && slices.Contains(in.Unrendered, c.Name) &&
			slices.ContainsFunc(c.Sources, func(s model.Source) bool { return s.Kind != model.Chart })
	})
	var out []finding.Finding
	of := map[string][]finding.Position{} // further Applications, by the project that is missing
	used := map[string]bool{}
	for _, a := range setup.Applications {
		used[cmp.Or(a.Project, "default")] = true
	}
	for _, a := range setup.Applications {
		name := cmp.Or(a.Project, "default")
		if made[name] || name == "default" || templated(name) || a.Assumed && a.Set == "" {
			continue
		}
		if _, told := of[name]; told {
			of[name] = append(of[name], a.Position)
			continue
		}
		for _, p := range setup.Projects {
			slip := oneLetter(p.Name, name)
			sure := slip && (len(p.Name) != len(name) || swapped(p.Name, name))
			if !sure && (hidden || used[p.Name] || p.Name == "default" || !slip && !oneWord(p.Name, name)) {
				continue
			}
			out = append(out, finding.Finding{
				Rule: ruleUnprovided, Severity: finding.Warning, Scope: finding.Rule, Basis: finding.Declared,
				Component: cmp.Or(a.Component, a.Name), Position: a.Position,
				Resource: finding.Resource{Group: "argoproj.io", Kind: "AppProject", Name: name},
				Message:  fmt.Sprintf("Application %s is in AppProject %s, which nothing in the repository provides; there is one of nearly the same name, %s", a.Name, name, p.Name),
				Evidence: []finding.Evidence{where(p.Position, "AppProject %s", p.Name)},
				Fix:      finding.Fix{Summary: fmt.Sprintf("write %s, or add what provides %s", p.Name, name)},
			})
			of[name] = nil
			break
		}
		if _, told := of[name]; told || hidden || in.createdProject(a, name) {
			continue
		}
		out = append(out, finding.Finding{
			Rule: ruleUnprovided, Severity: finding.Info, Scope: finding.Rule, Basis: finding.Declared,
			Component: cmp.Or(a.Component, a.Name), Position: a.Position,
			Resource: finding.Resource{Group: "argoproj.io", Kind: "AppProject", Name: name},
			Message:  fmt.Sprintf("Application %s is in AppProject %s, which nothing in the repository provides: Argo CD syncs nothing of it unless somebody has made the project", a.Name, name),
			Fix:      finding.Fix{Summary: "add AppProject " + name + ", or what makes it"},
		})
		of[name] = nil
	}
	for i := range out {
		if places := of[out[i].Resource.Name]; len(places) > 0 {
			out[i].Evidence = append(out[i].Evidence, furtherPlaces(places))
		}
	}
	return out
}

// createdProject reports whether the repository has somebody make a project by hand.
func (in Input) createdProject(a argo.Application, name string) bool {
	if in.Created == nil {
		return false
	}
	_, made := in.Created(finding.Resource{Group: "argoproj.io", Kind: "AppProject", Namespace: a.Namespace, Name: name})
	return made
}

// oneWord reports whether one of two names is the other with a word more.
func oneWord(a, b string) bool {
	p, q := strings.Split(a, "-"), strings.Split(b, "-")
	if len(p) > len(q) {
		p, q = q, p
	}
	if len(p) < 2 || len(p)+1 != len(q) {
		return false
	}
	for i := range q {
		if slices.Equal(p, slices.Concat(q[:i], q[i+1:])) {
			return true
		}
	}
	return false
}

// oneLetter reports whether two names differ by a letter that is not a digit: one more, another
// one, or two that are swapped. The first letter, another last one, and short words tell things
// apart on purpose.
func oneLetter(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < 5 || len(b)-len(a) > 1 || a == b || a[0] != b[0] {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	digit := func(s string) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }
	if digit(a) || digit(b) {
		return false
	}
	if word := b[strings.LastIndex(b[:i], "-")+1:]; strings.Index(word+"-", "-") < 4 {
		return false
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a)-1 {
		return false
	}
	return swapped(a, b) || a[i+1:] == b[i+1:]
}

// swapped reports whether two names are the same but for two letters beside each other.
func swapped(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return len(a) == len(b) && i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// tooEarly is an Application that is applied before its project, with the levels of both
// that say so.
type tooEarly struct {
	argo.Application
	own, project level
}

// lateProject tells of the Applications that are applied before their project.
func lateProject(s argo.Settings, p argo.Project, early []tooEarly) finding.Finding {
	slices.SortStableFunc(early, func(a, b tooEarly) int {
		return cmp.Or(cmp.Compare(a.own.wave, b.own.wave), strings.Compare(a.Name, b.Name))
	})
	first := early[0]
	f := aboutApplication(first.Application, ruleProjectLate, finding.Warning,
		"Application %s is in AppProject %s, which is applied later (%s, %s): Argo CD syncs nothing of it before the project is there", first.Name, p.Name, first.own, first.project)
	waits := "the sync of " + first.own.parent + " waits for it"
	switch {
	case s.Assesses("argoproj.io", "Application"):
		f.Severity = finding.Error
		f.Message += ", and " + waits
	case s.Known:
		f.Severity = finding.Info
		f.Message += "; nothing waits for it, so that it heals once the project is there"
	default:
		f.Message += ", and where the health of Applications is assessed, " + waits
	}
	f.Evidence = append(f.Evidence, where(p.Position, "AppProject %s stands at wave %d", p.Name, p.Wave.Value))
	if more := len(early) - 1; more > 0 {
		f.Message += "; so it is for " + finding.Count(more, "more Application")
		for _, a := range early[1:min(len(early), named+1)] {
			f.Evidence = append(f.Evidence, where(a.Position, "%s is in it as well (%s)", a.Name, a.own))
		}
	}
	f.Fix.Summary = "give AppProject " + p.Name + " an earlier sync wave than " + first.Name
	return f
}

// places are the ways by which parents apply what Argo CD knows, from the root on.
type places map[string]argo.Application

// level is what is applied by a parent in a wave.
type level struct {
	parent, name string
	wave         int
}

// String is "storage at wave 3".
func (l level) String() string { return fmt.Sprintf("%s at wave %d", l.name, l.wave) }

func newPlaces(setup argo.Setup) places {
	p := places{}
	for _, a := range setup.Applications {
		p[a.Name] = a
	}
	return p
}

func (p places) ofProject(project argo.Project) []level {
	return p.below(level{project.Parent, "AppProject " + project.Name, project.Wave.Value})
}

func (p places) of(a argo.Application) []level { return p.below(level{a.Parent, a.Name, a.Wave.Value}) }

// below is the way to what a parent applies. What a set generates has none.
func (p places) below(own level) []level {
	way := []level{own}
	for range maxParents {
		a, ok := p[own.parent]
		if !ok || a.Set != "" {
			break
		}
		own = level{a.Parent, a.Name, a.Wave.Value}
		way = append(way, own)
	}
	slices.Reverse(way)
	return way
}

// parentWaits reports whether one of those that apply an Application is in a project, or is
// applied with one that it is in and that comes in this wave or a later one. The project default
// is there from the start.
func (p places) parentWaits(a argo.Application, project argo.Project, all []argo.Project) bool {
	return slices.ContainsFunc(p.of(a), func(l level) bool {
		if in := p[l.name].Project; l.name == a.Name || in == project.Name {
			return l.name != a.Name
		}
		return l.parent == project.Parent && slices.ContainsFunc(all, func(other argo.Project) bool {
			return other.Name == p[l.name].Project && other.Name != "default" && other.Parent == project.Parent && other.Wave.Value >= project.Wave.Value
		})
	})
}

// maxParents bounds how deep parents are followed: they may apply each other.
const maxParents = 16

// later reports whether the first of two is applied in a later wave of a parent of both, and
// the levels of both there. Nothing orders two roots: no sync applies them both.
func later(a, b []level) (first, second level, ok bool) {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i].parent != b[i].parent, a[i].parent == "" && a[i].name != b[i].name:
			return first, second, false
		case a[i].wave != b[i].wave:
			return a[i], b[i], a[i].wave > b[i].wave
		case a[i].name != b[i].name:
			return first, second, false
		}
	}
	return first, second, false
}
