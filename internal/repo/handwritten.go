package repo

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/byhand"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// generated is a component that an ApplicationSet makes of a descriptor.
type generated struct{ set, file string }

// placed is a component that a set below parents makes, and the Applications that the
// parents are among.
type placed struct {
	*model.Component
	applications []argo.Application
}

// placeSets gives the components that ApplicationSets generate of their descriptors the
// sync waves of what applies these sets: parents that somebody wrote order them before
// their own steps do. It returns these parents. Where all sets stand at one place there is
// nothing to give.
func (r *Repository) placeSets(ctx context.Context, components []model.Component) (parents []argo.Application, err error) {
	if !slices.ContainsFunc(components, func(c model.Component) bool { return c.Set != "" }) {
		return nil, nil
	}
	if err := r.readPlaced(ctx); err != nil {
		return nil, err
	}
	var first []int
	several := false
	for _, c := range components {
		if at, ok := r.placed[generated{c.Set, c.Position.File}]; ok {
			if first == nil {
				first = at.Waves
			}
			several = several || !slices.Equal(first, at.Waves)
		}
	}
	if !several {
		return nil, nil
	}
	for i := range components {
		c := &components[i]
		at, ok := r.placed[generated{c.Set, c.Position.File}]
		if !ok {
			continue
		}
		c.Waves, c.Parents = slices.Clone(at.Waves), slices.Clone(at.Parents)
		for _, a := range at.applications {
			known := func(p argo.Application) bool { return p.Name == a.Name && p.Position == a.Position }
			if slices.Contains(c.Parents, a.Name) && !slices.ContainsFunc(parents, known) {
				parents = append(parents, a)
			}
		}
	}
	return parents, nil
}

// ruleIgnored is the rule of a sync wave that orders nothing.
const ruleIgnored = "wave-on-generated-application"

// keepLadder takes the syncWave of descriptors away where it orders nothing: in the layouts
// of RollingSync, on what an ApplicationSet makes, and as soon as one descriptor has a phase.
// It returns what there is to tell of those that have a place without it.
func keepLadder(layout plan.Layout, components []model.Component) []finding.Finding {
	if layout != plan.Single && layout != plan.Tiers {
		return nil
	}
	phases := slices.ContainsFunc(components, func(c model.Component) bool { return c.Phase >= 0 })
	var found []finding.Finding
	for i := range components {
		c := &components[i]
		if len(c.Waves) == 0 || !phases && c.Set == "" {
			continue
		}
		c.Waves = nil
		reason := fmt.Sprintf("the layout %s orders by phases", layout)
		switch {
		case c.Set != "":
			reason = fmt.Sprintf("ApplicationSet %s makes it, which heeds no sync waves", c.Set)
		case c.Phase < 0:
			continue // that it has no phase is told
		}
		found = append(found, finding.Finding{
			Rule: ruleIgnored, Severity: finding.Info, Scope: finding.Rule, Basis: finding.Declared,
			Component: c.Name, Position: c.At("syncWave"),
			Message: fmt.Sprintf("the syncWave of %s orders nothing: %s", c.Name, reason),
			Fix:     finding.Fix{Summary: "drop syncWave, or write layout: app-of-apps in ladder.yaml, which goes by it"},
		})
	}
	return found
}

// readPlaced reads once, for all environments of descriptors, what the parents in the
// repository apply by ApplicationSets. What is wrong with Applications is told where
// they are read.
func (r *Repository) readPlaced(ctx context.Context) error {
	if r.placed != nil {
		return nil
	}
	r.placed, r.single = map[generated]placed{}, map[string]bool{}
	environments, err := r.applications.Environments(ctx)
	if err != nil {
		return ctx.Err()
	}
	for _, e := range environments {
		reading, err := r.applications.Read(ctx, e)
		if err != nil {
			return ctx.Err()
		}
		for _, f := range reading.Findings {
			if f.Rule == descriptor.RuleDuplicate {
				r.duplicates = append(r.duplicates, f)
			}
		}
		for i := range reading.Components {
			c := &reading.Components[i]
			if c.Set != "" && len(c.Waves) > 0 {
				r.placed[generated{c.Set, c.Position.File}] = placed{c, reading.Setup.Applications}
			}
			if c.Set == "" {
				for _, s := range c.Sources {
					r.single[s.Path] = true
				}
			}
		}
	}
	return ctx.Err()
}

// besideSets tells of Applications that have the name of one which a set makes of a descriptor.
func (r *Repository) besideSets(setup argo.Setup) []finding.Finding {
	var found []finding.Finding
	for _, f := range r.duplicates {
		for _, set := range setup.ApplicationSets {
			at := slices.IndexFunc(setup.Applications, func(a argo.Application) bool { return a.Set == set.Name && a.Name == f.Component })
			if at >= 0 && slices.ContainsFunc(f.Evidence, func(e finding.Evidence) bool { return e.File == set.Position.File }) {
				name := setup.Applications[at].Component
				f.Environment, f.Component, f.Provider = "", name, name
				found = append(found, f)
				break
			}
		}
	}
	return found
}

// appliedSets are the sets that the parents in the repository make of descriptors, by file, as
// far as they agree on it.
func (r *Repository) appliedSets(ctx context.Context) (map[string]string, error) {
	if err := r.readPlaced(ctx); err != nil {
		return nil, err
	}
	sets := map[string]string{}
	for made := range r.placed {
		if other, known := sets[made.file]; known && other != made.set {
			sets[made.file] = ""
			continue
		}
		sets[made.file] = made.set
	}
	return sets, nil
}

// applied are the components without the descriptors that nothing in the repository makes
// anything of, where parents apply the ApplicationSets of the others: a set, an Application or
// somebody's command makes all there is then. unapplied are the names of those without. Beside
// what Ladder generated nothing is left out, since that is not read.
func (r *Repository) applied(ctx context.Context, p *Platform) (all []model.Component, unapplied []string, err error) {
	alone := func(c model.Component) bool { return c.Set == "" && !c.PreArgo && !c.Object && len(c.Waves) == 0 }
	if len(p.Argo.Above) == 0 || !slices.ContainsFunc(p.Components, alone) {
		return p.Components, nil, nil
	}
	files, err := r.tree.Find(ctx, ".", func(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" })
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		if content, err := r.tree.Read(file); err == nil && ladderfile.IsGenerated(content) {
			return p.Components, nil, nil
		}
	}
	taken := r.taken(ctx)
	for _, c := range p.Components {
		if alone(c) && !isTaken(c, taken) {
			unapplied = append(unapplied, c.Name)
			continue
		}
		all = append(all, c)
	}
	return all, unapplied, nil
}

// taken are the files and folders that Applications which somebody wrote take, and commands.
func (r *Repository) taken(ctx context.Context) []string {
	all := slices.Sorted(maps.Keys(r.single))
	told := byhand.Find(ctx, r.tree)
	for _, command := range slices.Concat(told.Files, told.Shown, told.Folders) {
		all = append(all, command.Address, command.Through)
	}
	return slices.DeleteFunc(all, func(p string) bool { return p == "" })
}

// isTaken reports whether one of some paths is the folder of a descriptor or of a source of its,
// lies in it, or holds it.
func isTaken(c model.Component, paths []string) bool {
	own := []string{path.Dir(c.Position.File)}
	for _, s := range c.Sources {
		if s.Path != "" && s.RepoURL == "" {
			own = append(own, s.Path)
		}
	}
	holds := func(dir, p string) bool { return dir == "." || dir == p || strings.HasPrefix(p, dir+"/") }
	return slices.ContainsFunc(paths, func(p string) bool {
		p = path.Clean(p)
		return slices.ContainsFunc(own, func(o string) bool { return holds(p, o) || holds(o, p) })
	})
}

// matched are the labels by which the steps of a set that somebody wrote know the
// phases of descriptors: those of the ladder file, or the one label that every step
// matches.
func matched(set argo.ApplicationSet, labels ladderfile.Labels) ladderfile.Labels {
	var keys []string
	for _, step := range set.Steps {
		for _, e := range step.MatchExpressions {
			if e.Key != labels.Part && !slices.Contains(keys, e.Key) {
				keys = append(keys, e.Key)
			}
		}
	}
	if len(keys) == 1 {
		labels.Phase = keys[0]
	}
	return labels
}

// sideBySide tells of sets that nothing orders, although the plan has their phases, or the
// steps of descriptors without, one after the other: Argo CD begins with all of them at once.
func sideBySide(setup argo.Setup, components []model.Component, ofArgo bool) []finding.Finding {
	var first *model.Component
	var names []string
	by := "steps"
	for i := range components {
		c := &components[i]
		if _, rolling := rollingSet(setup, c.Set); !rolling || c.Phase == model.NoPhase && (ofArgo || c.Step == 0) {
			continue
		}
		if c.Phase != model.NoPhase {
			by = "phases"
		}
		if first == nil {
			first = c
		}
		if !slices.Equal(c.Waves, first.Waves) {
			return nil // parents order the sets, or some of them
		}
		if !slices.Contains(names, c.Set) {
			names = append(names, c.Set)
		}
	}
	if len(names) < 2 {
		return nil
	}
	slices.Sort(names)
	set, _ := rollingSet(setup, names[0])
	return []finding.Finding{{
		Rule: ruleReversed, Severity: finding.Warning, Scope: finding.Rule, Basis: finding.Declared, Position: set.Position,
		Message: "nothing orders the ApplicationSets " + strings.Join(names, ", ") + ": Argo CD rolls them out side by side, while the plan goes by the " + by + " of all of them",
		Fix:     finding.Fix{Summary: "let one parent apply them by Applications with sync waves, as the layout tiers generates them"},
	}}
}
