package rehearse

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/analysis"
	engineargocd "github.com/rollout-ladder/ladder/internal/argocd/engine"
	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/plane/argocd"
	"github.com/rollout-ladder/ladder/internal/plane/argocd/snapshot"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// rehearsedImage runs the checks of smokes where ladder.yaml names no image: on the
// plane nothing is pulled, and the simulated kubelet does the checks.
const rehearsedImage = "ghcr.io/rollout-ladder/ladder:rehearsal"

// setup is what Argo CD finds: a repository, and what a person applies.
type setup struct {
	// address and revision are those of the repository.
	address, revision string
	// namespace is Argo CD's.
	namespace string
	// objects are applied by hand, in this order.
	objects []*unstructured.Unstructured
	// parents are the Applications among them.
	parents []status.Ref
}

// NotDrivenError says that the Applications of a repository are its own: what
// makes them could not be held before it starts syncs.
type NotDrivenError struct{ Root string }

// Error implements error.
func (e *NotDrivenError) Error() string {
	return e.Root + " holds Applications of its own, which Argo CD begins to sync as soon as they are made; a rehearsal follows them: leave --policy out"
}

// makeSetup makes the repository in dir. A platform of descriptors is served with
// the objects that are generated of it; a repository of Applications as it is.
func (a *argoTarget) makeSetup(ctx context.Context, dir string) (err error) {
	switch {
	case a.loaded.Platform.Applied == nil:
		a.setup, err = a.generatedSetup(ctx, dir)
	case a.options.Drive:
		err = &NotDrivenError{Root: a.loaded.Platform.Root}
	default:
		a.setup, err = ownSetup(ctx, a.loaded, dir)
	}
	return err
}

// generatedSetup serves what ladder generate writes.
func (a *argoTarget) generatedSetup(ctx context.Context, dir string) (setup, error) {
	p := a.loaded.Platform
	unrendered := map[string]string{}
	for _, u := range a.loaded.Unrendered {
		unrendered[u.Component] = u.Reason
	}
	// The steps are written for the policy phases, whoever goes by them.
	planned, err := plan.Build(session.PlanInput(a.loaded, rollout.Phases, a.options.Durations, 0))
	if err != nil {
		return setup{}, fmt.Errorf("plan what is generated: %w", err)
	}
	made, err := generate.Build(ctx, generate.Input{
		Platform: p, Components: a.loaded.Typed(), Plan: planned, Objects: a.loaded.Objects, Unrendered: unrendered,
		RepoURL: snapshot.Address(dir), Revision: snapshot.Branch, Image: rehearsedImage,
	})
	written := func(c model.Component) bool { return c.Set != "" }
	switch {
	case err != nil && slices.ContainsFunc(p.Components, written):
		return setup{}, fmt.Errorf("%w; a rehearsal of what Ladder would generate: --root FILE rehearses the ApplicationSets that are written here", err)
	case err != nil:
		return setup{}, err
	}
	prefix, err := filepath.Rel(p.Repository, p.Root)
	if err != nil {
		return setup{}, fmt.Errorf("find the platform in its repository: %w", err)
	}
	inRepository := func(file string) string { return path.Join(filepath.ToSlash(prefix), file) }
	options := snapshot.Options{Top: p.Repository, Dir: dir, Without: []string{inRepository(made.Folder)}}
	var objects []*unstructured.Unstructured
	for _, f := range made.Files {
		options.Add = append(options.Add, snapshot.File{Path: inRepository(f.Path), Content: f.Content})
		parsed, err := a.applied(made, f)
		if err != nil {
			return setup{}, err
		}
		objects = append(objects, parsed...)
	}
	s, err := snapshot.Make(ctx, options)
	if err != nil {
		return setup{}, err
	}
	if a.options.Drive {
		for i := range objects {
			if objects[i], err = engineargocd.Held(objects[i], s.Revision); err != nil {
				return setup{}, err
			}
		}
	}
	return newSetup(s, p.ArgoCD.Namespace, objects), nil
}

// applied are the objects of a generated file that are applied by hand: the root
// and what it cannot do without. What Ladder drives is all made at once, held:
// whatever the root made would start before it could be held.
func (a *argoTarget) applied(made *generate.Result, f generate.File) ([]*unstructured.Unstructured, error) {
	all := f.Path == made.Root || byHand(strings.TrimPrefix(f.Path, made.Folder+"/"))
	if !all && !a.options.Drive {
		return nil, nil
	}
	parsed, err := manifest.Parse(f.Content)
	if err != nil {
		return nil, fmt.Errorf("read the generated %s: %w", f.Path, err)
	}
	var objects []*unstructured.Unstructured
	for _, o := range parsed {
		if kind := o.Object.GetKind(); all || kind == "Application" || kind == "ApplicationSet" {
			objects = append(objects, o.Object)
		}
	}
	return objects, nil
}

// byHand reports whether a generated file is applied before the root: the root
// could not be synced without its project, nor in order without the settings.
func byHand(file string) bool {
	return file == "projects.yaml" || file == "settings/argocd-cm.yaml" || file == "settings/argocd-cmd-params-cm.yaml"
}

func newSetup(s snapshot.Snapshot, namespace string, objects []*unstructured.Unstructured) setup {
	made := setup{address: s.Address, revision: s.Revision, namespace: cmp.Or(namespace, argocd.DefaultNamespace), objects: objects}
	namespaced(objects, made.namespace)
	// Settings and projects are there before what needs them.
	rank := map[string]int{"ConfigMap": 0, "AppProject": 1}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		at := func(o *unstructured.Unstructured) int {
			if r, ok := rank[o.GetKind()]; ok {
				return r
			}
			return len(rank)
		}
		return cmp.Compare(at(a), at(b))
	})
	for _, o := range objects {
		if o.GetKind() == "Application" {
			made.parents = append(made.parents, status.Ref{Namespace: o.GetNamespace(), Name: o.GetName()})
		}
	}
	return made
}

// ownSetup serves a repository of Applications, unchanged except for its
// addresses.
func ownSetup(ctx context.Context, loaded *analysis.Result, dir string) (setup, error) {
	p := loaded.Platform
	var written []string
	for _, app := range p.Argo.Applications {
		for _, s := range app.Sources {
			if p.Applied.Own(s.RepoURL) && !slices.Contains(written, s.RepoURL) {
				written = append(written, s.RepoURL)
			}
		}
	}
	s, err := snapshot.Make(ctx, snapshot.Options{Top: loaded.Top(), Dir: dir, Own: p.Applied.Own, OwnWritten: written})
	if err != nil {
		return setup{}, err
	}
	r := &roots{loaded: loaded, snapshot: s}
	objects, err := r.find()
	if err != nil {
		return setup{}, err
	}
	namespace := ""
	for _, o := range objects {
		if o.GetKind() == "Application" || o.GetKind() == "ApplicationSet" {
			namespace = cmp.Or(namespace, o.GetNamespace())
		}
	}
	return newSetup(s, namespace, objects), nil
}
