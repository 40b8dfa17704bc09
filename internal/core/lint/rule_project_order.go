package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const ruleProjectLate = "project-before-use"

// projectBeforeUse finds Applications that are applied in a wave before that of their
// AppProject. Argo CD compares and syncs nothing of an Application whose project is not
// there, so that it does not become Healthy. Source: argo-cd, util/argo, ValidatePermissions.
func projectBeforeUse(in Input) []finding.Finding {
	places := newPlaces(in.Argo)
	var out []finding.Finding
	for _, p := range in.Argo.Projects {
		if p.Parent == "" || p.Name == "default" || slices.ContainsFunc(in.Argo.Projects, func(o argo.Project) bool { return o.Name == p.Name && o.Position != p.Position }) {
			continue
		}
		var early []argo.Application
		for _, a := range in.Argo.Applications {
			if a.Project == p.Name && !a.Assumed && places.later(places.ofProject(p), places.of(a)) {
				early = append(early, a)
			}
		}
		if len(early) > 0 {
			out = append(out, lateProject(in.Argo.Settings, p, early))
		}
	}
	return out
}

// lateProject tells of the Applications that are applied before their project.
func lateProject(s argo.Settings, p argo.Project, early []argo.Application) finding.Finding {
	slices.SortStableFunc(early, func(a, b argo.Application) int {
		return cmp.Or(cmp.Compare(a.Wave.Value, b.Wave.Value), strings.Compare(a.Name, b.Name))
	})
	first := early[0]
	f := aboutApplication(first, ruleProjectLate, finding.Warning,
		"Application %s (wave %d) is in AppProject %s, which is applied later (wave %d): Argo CD syncs nothing of it before the project is there", first.Name, first.Wave.Value, p.Name, p.Wave.Value)
	switch {
	case s.Assesses("argoproj.io", "Application"):
		f.Severity = finding.Error
		f.Message += ", and the sync of " + p.Parent + " waits for it"
	case s.Known:
		f.Severity = finding.Info
		f.Message += "; nothing waits for it, so that it heals once the project is there"
	default:
		f.Message += ", and where the health of Applications is assessed, the sync of " + p.Parent + " waits for it"
	}
	f.Evidence = append(f.Evidence, where(p.Position, "AppProject %s stands at wave %d", p.Name, p.Wave.Value))
	if more := len(early) - 1; more > 0 {
		f.Message += "; so it is for " + finding.Count(more, "more Application")
		for _, a := range early[1:min(len(early), named+1)] {
			f.Evidence = append(f.Evidence, where(a.Position, "%s (wave %d) is in it as well", a.Name, a.Wave.Value))
		}
	}
	f.Fix.Summary = "give AppProject " + p.Name + " an earlier sync wave than " + first.Name
	return f
}

// places are the ways by which parents apply what Argo CD knows, from the root on.
type places struct {
	applications map[string]argo.Application
	sets         map[string]argo.ApplicationSet
}

// level is what is applied by a parent in a wave.
type level struct {
	parent, name string
	wave         int
}

func newPlaces(setup argo.Setup) places {
	p := places{map[string]argo.Application{}, map[string]argo.ApplicationSet{}}
	for _, a := range setup.Applications {
		p.applications[a.Name] = a
	}
	for _, s := range setup.ApplicationSets {
		p.sets[s.Name] = s
	}
	return p
}

func (p places) ofProject(project argo.Project) []level {
	return p.below(project.Parent, level{project.Parent, "AppProject " + project.Name, project.Wave.Value})
}

// of is the way to an Application. One that a set generates comes with the set.
func (p places) of(a argo.Application) []level {
	own := level{a.Parent, a.Name, a.Wave.Value}
	if s, ok := p.sets[a.Set]; ok && a.Set != "" {
		own = level{s.Parent, "ApplicationSet " + s.Name, s.Wave.Value}
	}
	return p.below(own.parent, own)
}

func (p places) below(parent string, own level) []level {
	way := []level{own}
	for range maxParents {
		a, ok := p.applications[parent]
		if !ok {
			break
		}
		step := level{a.Parent, a.Name, a.Wave.Value}
		if s, ok := p.sets[a.Set]; ok && a.Set != "" {
			step = level{s.Parent, "ApplicationSet " + s.Name, s.Wave.Value}
		}
		way = append(way, step)
		parent = step.parent
	}
	slices.Reverse(way)
	return way
}

// maxParents bounds how deep parents are followed: they may apply each other.
const maxParents = 16

// later reports whether the first of two is applied in a later wave of a parent of both.
func (places) later(a, b []level) bool {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i].parent != b[i].parent:
			return false
		case a[i].wave != b[i].wave:
			return a[i].wave > b[i].wave
		case a[i].name != b[i].name:
			return false
		}
	}
	return false
}
