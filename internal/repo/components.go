package repo

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// foldersOf are the folders of the descriptors of an environment.
func (r *Repository) foldersOf(environment string) []string {
	var folders []string
	for _, p := range r.file.Folders[environment].Components {
		folders = append(folders, path.Clean(p.Path))
	}
	if len(folders) == 0 {
		return []string{path.Join(environmentsFolder, environment, componentsFolder)}
	}
	return folders
}

// shares reports whether another environment reads descriptors of this one.
func (r *Repository) shares(environment string) bool {
	in := func(a, b string) bool { return b == "." || strings.HasPrefix(a+"/", b+"/") }
	own := r.foldersOf(environment)
	return slices.ContainsFunc(r.environments, func(other string) bool {
		return other != environment && slices.ContainsFunc(r.foldersOf(other), func(a string) bool {
			return slices.ContainsFunc(own, func(b string) bool { return in(a, b) || in(b, a) })
		})
	})
}

// descriptors reads the components of an environment of descriptors.
func (r *Repository) descriptors(ctx context.Context, environment string) ([]model.Component, []finding.Finding, error) {
	for _, p := range r.file.Folders[environment].Components {
		if _, err := r.tree.Resolve(p.Path, p.Position); err != nil {
			return nil, nil, err
		}
		if !r.tree.IsDir(p.Path) {
			return nil, nil, &InputError{Position: p.Position, Message: fmt.Sprintf("there is no folder %s", p.Path), Hint: "components lists folders of descriptors"}
		}
	}
	folders := r.foldersOf(environment)
	components, findings, err := descriptor.Read(ctx, folders, r.context(environment))
	if err == nil && len(components) == 0 {
		return nil, nil, &InputError{
			Position: finding.Position{File: folders[0]},
			Message:  fmt.Sprintf("the environment %s has no components", environment),
			Hint:     "add " + path.Join(folders[0], "<domain>/<name>", descriptor.FileName),
		}
	}
	return components, findings, err
}

func (r *Repository) context(environment string) descriptor.Context {
	ctx := descriptor.Context{Tree: r.tree, Environment: environment, Bands: r.file.Ladder.Bands, Templates: r.applications != nil && r.applications.HasSets()}
	for _, e := range r.file.Ladder.Environments {
		if e.Name == environment {
			ctx.Layers = e.Values
		}
	}
	return ctx
}

// preArgo reads the manifests that are applied before Argo CD exists.
func (r *Repository) preArgo(environment string) ([]model.Component, []finding.Finding, error) {
	against := r.context(environment)
	against.PreArgo = true
	var (
		components []model.Component
		findings   []finding.Finding
		problems   []error
	)
	for _, entry := range r.file.PreArgo {
		if !entry.In(environment) {
			continue
		}
		c, fs, err := descriptor.Decode(entry.Value, descriptor.Place{}, against)
		components, findings = append(components, c), append(findings, fs...)
		findings = append(findings, ladderfile.UnknownFields(entry, c.Unknown)...)
		problems = append(problems, err)
	}
	return components, findings, descriptor.Join(problems...)
}

// merge puts the pre-Argo components first and reports names used in both.
func merge(pre, rest []model.Component) ([]model.Component, []finding.Finding) {
	first := make(map[string]int, len(pre)+len(rest)) // places in all
	all := make([]model.Component, 0, len(pre)+len(rest))
	var findings []finding.Finding
	take := func(c *model.Component) {
		if f, ok := unnameable(c); !ok {
			findings = append(findings, f)
			return
		}
		if at, ok := first[c.Name]; ok {
			other := &all[at]
			if other.Position == c.Position && other.Namespace == c.Namespace && reflect.DeepEqual(other.Sources, c.Sources) {
				return // one Application that two parents apply
			}
			findings = append(findings, descriptor.Duplicate(*other, *c))
			return
		}
		first[c.Name] = len(all)
		all = append(all, *c)
	}
	for i := range pre {
		take(&pre[i])
	}
	for i := range rest {
		take(&rest[i])
	}
	return all, findings
}

// unnameable refuses a component whose words could not be printed as they are: every
// output names it, and Kubernetes takes no such name.
func unnameable(c *model.Component) (f finding.Finding, ok bool) {
	for _, word := range []struct{ what, text string }{
		{"name", c.Name}, {"namespace", c.Namespace}, {"project", c.Project}, {"domain", c.Domain}, {"cluster", c.Cluster},
		{"ApplicationSet", c.Set}, {"type", string(c.Type)},
	} {
		if finding.Plain(word.text) != word.text {
			return finding.Finding{
				Rule: descriptor.RuleInvalid, Severity: finding.Error, Scope: finding.Rule, Basis: finding.Declared, Position: c.Position,
				Message: fmt.Sprintf("the component %q is left out: the %s %q holds a character that is not printed, which Kubernetes does not take", c.Name, word.what, word.text),
			}, false
		}
	}
	return finding.Finding{}, true
}

// sortComponents orders by place, then name. Components without a place come
// last.
func sortComponents(l plan.Ladder, components []model.Component) {
	rank := func(c model.Component) int {
		switch {
		case c.PreArgo:
			return 0
		case c.Phase == model.NoPhase && len(c.Waves) == 0 && c.Step == 0:
			return 2
		default:
			return 1
		}
	}
	set := func(c model.Component) int {
		if l.Layout != plan.Tiers {
			return 0
		}
		return ladderfile.SetIndex(l, c.Domain)
	}
	slices.SortStableFunc(components, func(a, b model.Component) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(set(a), set(b)),
			slices.Compare(a.Waves, b.Waves),
			cmp.Compare(a.Phase, b.Phase),
			cmp.Compare(a.Step, b.Step),
			strings.Compare(a.Name, b.Name),
		)
	})
}
