package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/infer"
	"github.com/rollout-ladder/ladder/internal/intake"
	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/plan"
	"github.com/rollout-ladder/ladder/internal/render"
)

// Options say what is loaded and how it is rendered. The zero value works.
type Options struct {
	// Environment is the name of an environment; empty selects the only one, or
	// dev.
	Environment string
	// KubeVersion of the target; empty means the one of ladder.yaml, else that
	// of the plane.
	KubeVersion string
	// APIVersions are added to those of ladder.yaml.
	APIVersions []string
	Offline     bool
	CacheDir    string
	NoCache     bool
	// Progress is told how far rendering is; nil is fine.
	Progress func(done, total int, what string)
}

// rendering tells Progress of components that are rendered.
func (o Options) rendering() func(done, total int, name string) {
	if o.Progress == nil {
		return nil
	}
	return func(done, total int, _ string) { o.Progress(done, total, "rendering") }
}

// Result is a platform with everything that is known of it.
type Result struct {
	Platform *intake.Platform
	// Objects of every enabled component that could be rendered, by name.
	Objects map[string][]manifest.Object
	// Unrendered are the components that could not be rendered, in the order of
	// the ladder.
	Unrendered []*render.Error
	Edges      []plan.Edge
	// Findings of intake and inference, sorted.
	Findings []finding.Finding
}

// Load reads, renders and infers. Unreadable input is an intake.InputError;
// what cannot be rendered is part of the result.
func Load(ctx context.Context, path string, o Options) (*Result, error) {
	p, err := intake.Open(ctx, path, intake.Options{Environment: o.Environment})
	if err != nil {
		return nil, err
	}
	r := &Result{Platform: p, Objects: map[string][]manifest.Object{}}
	var enabled []component.Component
	for _, c := range p.Components {
		if c.Enabled {
			enabled = append(enabled, c)
		}
	}
	for _, one := range rendered(ctx, p, enabled, o) {
		var unrendered *render.Error
		switch {
		case one.Err == nil:
			r.Objects[one.Component] = one.Objects
		case errors.As(one.Err, &unrendered):
			r.Unrendered = append(r.Unrendered, unrendered)
		default:
			return nil, fmt.Errorf("render %s: %w", one.Component, one.Err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var findings []finding.Finding
	r.Edges, findings = infer.Edges(infer.Input{Components: p.Components, Objects: r.Objects})
	r.Findings = append(slices.Clone(p.Findings), findings...)
	for i := range r.Findings {
		r.Findings[i].Environment = cmp.Or(r.Findings[i].Environment, p.Environment)
	}
	finding.Sort(r.Findings)
	return r, nil
}

// rendered renders components of a platform; the results are in their order.
func rendered(ctx context.Context, p *intake.Platform, components []component.Component, o Options) []render.Result {
	target := p.Target()
	results := render.New(p.Root, p.Repository, render.Options{
		KubeVersion: cmp.Or(o.KubeVersion, target.KubeVersion),
		APIVersions: slices.Concat(target.APIVersions, o.APIVersions),
		Offline:     o.Offline, CacheDir: o.CacheDir, NoCache: o.NoCache,
	}).All(ctx, components, o.rendering())
	for i, c := range components {
		if c.AppOfApps {
			results[i].Objects = slices.DeleteFunc(results[i].Objects, isArgo)
		}
	}
	return results
}

// isArgo reports whether an object of an app-of-apps is for Argo CD alone. What
// Applications and ApplicationSets stand for are components of their own, and a
// rollout without Argo CD has nothing that serves their kinds.
func isArgo(o manifest.Object) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == "argoproj.io" && slices.Contains([]string{"Application", "ApplicationSet", "AppProject"}, gvk.Kind)
}

// One renders one component of a platform, disabled or not, as it is rendered
// with the others: charts see the CRDs of the whole repository.
func One(ctx context.Context, path, name string, o Options) (component.Component, []manifest.Object, error) {
	p, err := intake.Open(ctx, path, intake.Options{Environment: o.Environment})
	if err != nil {
		return component.Component{}, nil, err
	}
	wanted := slices.IndexFunc(p.Components, func(c component.Component) bool { return c.Name == name })
	if wanted < 0 {
		return component.Component{}, nil, unknownComponent(p, name)
	}
	var with []component.Component
	for i, c := range p.Components {
		if c.Enabled || i == wanted {
			with = append(with, c)
		}
	}
	for _, one := range rendered(ctx, p, with, o) {
		if one.Component != name {
			continue
		}
		var unrendered *render.Error
		if errors.As(one.Err, &unrendered) {
			return p.Components[wanted], nil, &intake.InputError{Position: unrendered.Position, Message: unrendered.Reason}
		}
		return p.Components[wanted], one.Objects, one.Err
	}
	return p.Components[wanted], nil, ctx.Err()
}

func unknownComponent(p *intake.Platform, name string) error {
	var names, similar []string
	for _, c := range p.Components {
		names = append(names, c.Name)
		if strings.Contains(c.Name, name) {
			similar = append(similar, c.Name)
		}
	}
	hint := "ladder inventory lists them"
	if near := yamlpos.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	} else if len(similar) > 0 {
		hint = "did you mean " + strings.Join(similar[:min(len(similar), 3)], " or ") + "?"
	}
	return &intake.InputError{
		Message: fmt.Sprintf("there is no component %q in environment %s", name, p.Environment), Hint: hint,
	}
}
