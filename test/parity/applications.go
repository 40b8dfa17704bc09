package main

import (
	"cmp"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/render"
)

// comparison is one environment, as both sides read it.
type comparison struct {
	*report
	loaded *analysis.Result
	read   result
	// again has Argo CD's side read it once more.
	again  func() (result, error)
	second *result
	// madeUp are the names of Applications that stand for a folder.
	madeUp map[string]bool
}

// run compares the environment.
func (c *comparison) run() error {
	if c.report.read == nil {
		c.report.read = map[string]bool{}
	}
	c.madeUp = map[string]bool{}
	for _, folder := range c.folders() {
		c.madeUp[folder.Name] = true
	}
	theirs := map[string][]application{}
	for _, a := range c.read.Applications {
		theirs[a.Name] = append(theirs[a.Name], a)
	}
	components := map[string]*model.Component{}
	for i := range c.loaded.Platform.Components {
		one := &c.loaded.Platform.Components[i]
		components[one.Name] = one
	}
	ours, assumed := map[string]bool{}, c.supposed()
	for _, a := range c.loaded.Argo.Applications {
		one := components[a.Component]
		ours[a.Name], c.report.read[a.Name] = true, true
		if assumed[a.Name] {
			c.assumed++
			continue
		}
		same := theirs[a.Name]
		if len(same) == 0 && c.standsForFolder(a) {
			continue // Argo CD's side calls it by its folder
		}
		if len(same) == 0 {
			c.lacking(a, theirs)
			continue
		}
		// Of several of one name the one that fits best is meant.
		other := slices.MaxFunc(same, func(x, y application) int { return cmp.Compare(fits(a, x), fits(a, y)) })
		if err := c.application(a, one, other); err != nil {
			return err
		}
	}
	for _, a := range c.read.Applications {
		switch folder := c.madeUp[a.Name]; {
		case folder && a.Failure != "" && !c.tellsOfFolder(a.Name) && !c.tellsIn(a.Failure):
			c.others = append(c.others, difference{c.environment(), a.Name, "Argo CD cannot render the folder: " + first(a.Failure)})
		case !folder && !ours[a.Name] && c.isUnknown(a.Set):
			c.unknown++
		case !folder && !ours[a.Name]:
			c.others = append(c.others, difference{c.environment(), a.Name, fmt.Sprintf("only Argo CD has this Application (set %q, parent %q) %s", a.Set, a.Parent, first(a.Failure))})
		}
	}
	for _, f := range c.read.Failures {
		if c.isUnknown(f.Name) {
			c.unknown++
			continue
		}
		c.differ(f.Name, "Argo CD cannot run this ApplicationSet: %s", first(f.Reason))
	}
	return nil
}

// isUnknown reports whether Ladder tells that it does not know what a set makes, or only
// supposes it.
func (c *comparison) isUnknown(set string) bool {
	return slices.ContainsFunc(c.loaded.Argo.ApplicationSets, func(s argo.ApplicationSet) bool { return s.Name == set && s.Unread }) ||
		slices.ContainsFunc(c.loaded.Argo.Applications, func(a argo.Application) bool { return a.Set == set && a.Assumed })
}

// lacking judges an Application that Argo CD does not make. Where it cannot render what
// applies it, and Ladder tells of something there that is not read or not rendered, the
// two agree: Ladder goes on with the rest. So they do where what applies it is not at hand,
// and Ladder knows what it makes.
func (c *comparison) lacking(a argo.Application, theirs map[string][]application) {
	failure := ""
	for at := range c.above(a) {
		failed := slices.IndexFunc(theirs[at.Name], func(x application) bool { return x.Failure != "" || x.Elsewhere })
		if failed < 0 {
			continue
		}
		if theirs[at.Name][failed].Elsewhere || c.tells(at) || c.tellsIn(theirs[at.Name][failed].Failure) {
			c.behind++
			return
		}
		failure = "; Argo CD cannot render " + at.Name + ": " + first(theirs[at.Name][failed].Failure)
	}
	c.applications.different++
	c.differ(a.Name, "only Ladder has this Application (%s, set %q, parent %q)%s", a.Position, a.Set, a.Parent, failure)
}

// above are the parents of an Application, the nearest first, and at last the folder that
// somebody applies.
func (c *comparison) above(a argo.Application) iter.Seq[argo.Application] {
	return func(yield func(argo.Application) bool) {
		seen := map[string]bool{}
		for !seen[a.Parent] && a.Parent != "" {
			seen[a.Parent] = true
			i := slices.IndexFunc(c.loaded.Argo.Applications, func(x argo.Application) bool { return x.Name == a.Parent })
			if i < 0 {
				break
			}
			a = c.loaded.Argo.Applications[i]
			if !yield(a) {
				return
			}
		}
		for _, folder := range c.folders() {
			if !yield(folder) {
				return
			}
		}
	}
}

// folders are the Applications that stand for folders that somebody applies.
func (c *comparison) folders() (all []argo.Application) {
	for _, h := range c.loaded.Platform.Applied.ByHand {
		if h.Folder != "" {
			all = append(all, argo.Application{Name: path.Base(h.Folder), Sources: []argo.Source{{Path: h.Folder}}})
		}
	}
	return all
}

// standsForFolder reports whether an Application is what a folder applies that somebody
// applies by hand.
func (c *comparison) standsForFolder(a argo.Application) bool {
	return a.Parent == "" && a.Set == "" && slices.ContainsFunc(c.folders(), func(f argo.Application) bool {
		return path.Clean(f.Sources[0].Path) == path.Dir(a.Position.File)
	})
}

func (c *comparison) tellsOfFolder(name string) bool {
	return slices.ContainsFunc(c.folders(), func(a argo.Application) bool { return a.Name == name && c.tells(a) })
}

// tells reports whether Ladder tells of something in an Application that is not rendered,
// or of a file of its folders that is not read.
func (c *comparison) tells(a argo.Application) bool {
	if a.Component != "" && c.reason(a.Component) != untold {
		return true
	}
	inside := func(file string) bool {
		return slices.ContainsFunc(a.Sources, func(s argo.Source) bool {
			return s.Path != "" && strings.HasPrefix(file, path.Clean(s.Path)+"/")
		})
	}
	return slices.ContainsFunc(c.loaded.Findings, func(f finding.Finding) bool { return f.Rule == argocd.RuleNotRead && inside(f.Position.File) }) ||
		slices.ContainsFunc(c.loaded.Unrendered, func(u *render.Error) bool { return inside(u.Position.File) })
}

// tellsIn reports whether Ladder tells of an error in a folder of which a failure speaks.
func (c *comparison) tellsIn(failure string) bool {
	return slices.ContainsFunc(c.loaded.Findings, func(f finding.Finding) bool {
		dir := path.Dir(f.Position.File)
		return f.Severity == finding.Error && dir != "." && strings.Contains(failure, "/"+dir)
	})
}

// supposed are the Applications that a set is only supposed to make, since what its
// generators ask is not in the repository, and what comes of those.
func (c *comparison) supposed() map[string]bool {
	supposed := map[string]bool{}
	for again := true; again; {
		again = false
		for _, a := range c.loaded.Argo.Applications {
			if !supposed[a.Name] && (a.Assumed || supposed[a.Parent]) {
				supposed[a.Name], again = true, true
			}
		}
	}
	return supposed
}

func (c *comparison) environment() string { return c.loaded.Platform.Environment }

func (c *comparison) differ(name, format string, args ...any) {
	c.differences = append(c.differences, difference{c.environment(), name, fmt.Sprintf(format, args...)})
}

// fits counts in what an Application is the same on both sides.
func fits(a argo.Application, other application) int {
	n := 0
	for _, same := range []bool{a.Parent == other.Parent, a.Set == other.Set, a.Destination == destination(other)} {
		if same {
			n++
		}
	}
	return n
}

func destination(a application) argo.Destination {
	d, _ := a.Spec["destination"].(map[string]any)
	text := func(name string) string { value, _ := d[name].(string); return value }
	return argo.Destination{Server: text("server"), Name: text("name"), Namespace: text("namespace")}
}

// application compares one that both sides have; one is nil where it applies nothing
// but Applications.
func (c *comparison) application(a argo.Application, one *model.Component, other application) error {
	before := len(c.differences)
	c.fields(a, other)
	if one != nil {
		c.sources(one, other)
	}
	if len(c.differences) > before {
		c.applications.different++
	} else {
		c.applications.equal++
	}
	objects, rendered := c.loaded.Objects[a.Component]
	refused := slices.ContainsFunc(a.Needs, c.loaded.Argo.Settings.Refuses) || one != nil && c.quoted(one)
	if refused && other.Failure == "" && !other.Elsewhere {
		c.differ(a.Name, "Argo CD renders it, and Ladder tells that it does not")
	}
	switch {
	case one == nil || !one.Enabled:
	case other.Elsewhere:
		c.elsewhere++
	case other.Failure != "" && !rendered:
		c.unrendered++
	case other.Failure != "" && refused:
		c.refused++ // lint says that Argo CD does not build it
	case other.Failure != "":
		c.objects.different += len(objects)
		c.differ(a.Name, "Argo CD cannot render it, Ladder does: %s", first(other.Failure))
	case !rendered:
		c.objects.different += len(other.Objects)
		c.differ(a.Name, "Ladder cannot render it, Argo CD does: %s", c.reason(a.Component))
	default:
		return c.compareObjects(one, objects, other)
	}
	return nil
}

// quoted reports whether a source is a kustomization, and an option of kustomize in quotes.
func (c *comparison) quoted(one *model.Component) bool {
	return slices.ContainsFunc(one.Sources, func(s model.Source) bool { return s.Kind == model.Kustomize }) &&
		slices.ContainsFunc(c.loaded.Argo.Settings.Build, func(b argo.BuildOptions) bool { _, is := b.Quoted(); return is })
}

// fields compares what an Application says.
func (c *comparison) fields(a argo.Application, other application) {
	if a.Set != other.Set {
		c.differ(a.Name, "set %q, Argo CD: %q", a.Set, other.Set)
	}
	if a.Parent != other.Parent && !c.madeUp[other.Parent] {
		c.differ(a.Name, "parent %q, Argo CD: %q", a.Parent, other.Parent)
	}
	if theirs := destination(other); theirs != a.Destination {
		c.differ(a.Name, "destination %+v, Argo CD: %+v", a.Destination, theirs)
	}
	if theirs, _ := other.Spec["project"].(string); cmp.Or(theirs, "default") != a.Project {
		c.differ(a.Name, "project %q, Argo CD: %q", a.Project, theirs)
	}
}

// sources compares how the sources in the repository are rendered.
func (c *comparison) sources(one *model.Component, other application) {
	if one.AppOfApps || other.Failure != "" {
		return
	}
	kinds := map[model.SourceKind]string{model.Chart: "Helm", model.Kustomize: "Kustomize", model.Manifests: "Directory", model.Plugin: "Plugin"}
	var ours, theirs []string
	for _, s := range one.Sources {
		if s.Path != "" {
			ours = append(ours, kinds[s.Kind])
		}
	}
	for _, kind := range other.Types {
		if kind != "" {
			theirs = append(theirs, kind)
		}
	}
	if !slices.Equal(ours, theirs) {
		c.differ(other.Name, "sources %q, Argo CD: %q", ours, theirs)
	}
}

// reason is why Ladder could not render a component.
func (c *comparison) reason(name string) string {
	for _, u := range c.loaded.Unrendered {
		if u.Component == name {
			return first(u.Reason)
		}
	}
	return untold
}

// untold is the reason of what Ladder has rendered whole.
const untold = "no reason told"
