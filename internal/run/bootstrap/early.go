package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// Early renders the components that come before Argo CD. The components are in the
// order in which they are applied.
func Early(ctx context.Context, p *repo.Platform, o analysis.Options) ([]model.Component, map[string][]manifest.Object, error) {
	var early []model.Component
	for _, c := range p.Components {
		if c.PreArgo && c.Enabled {
			early = append(early, c)
		}
	}
	if len(early) == 0 {
		return nil, nil, nil
	}
	early = asWritten(early)
	fetcher := o.Fetcher(p.Repository)
	defer func() { _ = fetcher.Close() }() // folders of its own, which nobody misses
	objects := map[string][]manifest.Object{}
	for _, result := range newRenderer(p, o, evaluate.With(fetcher), false).All(ctx, early, nil) {
		if result.Err != nil {
			return nil, nil, input(result.Err)
		}
		objects[result.Component] = result.Objects
	}
	return early, objects, ctx.Err()
}

// always are the namespaces that every cluster has.
var always = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

// Applied are objects as they are applied: in the order of a sync, each with the
// namespace that it lands in, and those namespaces before them which they lack. seen
// are namespaces that are there already; it gets those that are not.
func Applied(objects []manifest.Object, seen map[string]bool) []manifest.Object {
	ordered, _ := inOrder(objects)
	var all []manifest.Object
	for _, name := range landing(ordered) {
		if !seen[name] && !slices.Contains(always, name) {
			all = append(all, manifest.Object{Unstructured: newNamespace(name)})
		}
		seen[name] = true
	}
	for _, o := range ordered {
		o.Unstructured = o.DeepCopy()
		if o.GetNamespace() == "" && o.Target != "" {
			o.SetNamespace(o.Target)
		}
		if o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1" {
			seen[o.GetName()] = true
		}
		all = append(all, o)
	}
	return all
}

// asWritten puts components into the order of the ladder file, each behind those
// that it requires; a circle stays as it is written.
func asWritten(components []model.Component) []model.Component {
	left := slices.Clone(components)
	slices.SortStableFunc(left, func(a, b model.Component) int { return cmp.Compare(a.Position.Line, b.Position.Line) })
	var out []model.Component
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(c model.Component) bool {
			return !slices.ContainsFunc(c.Requires, func(q model.Requirement) bool {
				return q.Text != c.Name && slices.ContainsFunc(left, func(o model.Component) bool { return o.Name == q.Text })
			})
		})
		next = max(next, 0)
		out = append(out, left[next])
		left = slices.Delete(left, next, next+1)
	}
	return out
}

// newRenderer renders as the other commands do. pinned is set where the digest of what
// is fetched is known.
func newRenderer(p *repo.Platform, o analysis.Options, from evaluate.Fetch, pinned bool) *render.Renderer {
	target := p.Target()
	return render.New(p.Root, p.Repository, render.Options{
		KubeVersion: cmp.Or(o.KubeVersion, target.KubeVersion), APIVersions: slices.Concat(target.APIVersions, o.APIVersions),
		// What is fetched here is pinned by its digest, so it may be kept under its
		// version only where that is checked, which the cache of charts does not.
		Offline: o.Offline && !pinned, CacheDir: o.CacheDir, NoCache: o.NoCache || pinned, Fetch: from,
		SecretKeysOnly: o.SecretKeysOnly,
	})
}

// input makes an error of rendering one of the input.
func input(err error) error {
	var problem *render.Error
	if errors.As(err, &problem) {
		return &repofs.InputError{Position: problem.Position, Message: fmt.Sprintf("%s cannot be rendered: %s", problem.Component, problem.Reason), Err: err}
	}
	return err
}
