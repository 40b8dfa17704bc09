package render

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/render/helm"
	"github.com/rollout-ladder/ladder/internal/render/kustomize"
	"github.com/rollout-ladder/ladder/internal/render/plain"
	"github.com/rollout-ladder/ladder/internal/render/source"
)

// Options of a Renderer; the zero value works.
type Options struct {
	// KubeVersion of the target, such as "1.36"; default that of the plane.
	KubeVersion string
	// APIVersions of the target beyond those of Kubernetes and of the
	// repository's CRDs: "group/version" or "group/version/Kind".
	APIVersions []string
	// Offline forbids the network.
	Offline bool
	// CacheDir is where results are kept between runs; default
	// $XDG_CACHE_HOME/ladder.
	CacheDir string
	// NoCache neither reads nor writes the cache.
	NoCache bool
	// Timeout bounds one source; default 20 s.
	Timeout time.Duration
	// MaxOutput bounds the text one source renders to, in bytes; default 32 MiB.
	MaxOutput int
	// Workers is how many components are rendered at once; default GOMAXPROCS.
	Workers int
	// Fetch gets remote charts; default Helm's own clients. Not used offline.
	Fetch helm.Fetch
}

// The defaults of Options.
const (
	DefaultTimeout   = 20 * time.Second
	DefaultMaxOutput = 32 << 20
)

// Renderer renders components of one repository. It reads every file once: a
// change of the files needs a new Renderer. It is safe for concurrent use.
type Renderer struct {
	opts  Options
	tree  *source.Tree
	fault error // of opening the tree; every component reports it
	cache *cache

	mu       sync.Mutex
	versions []string // of the CRDs that were rendered, sorted
	scopes   *manifest.Scopes
}

// Result is one component's objects, or why there are none.
type Result struct {
	Component string
	Objects   []manifest.Object
	Err       error // *Error for anything that is wrong with the repository
}

// New makes a Renderer. root is the root of the platform, repository the
// folder that no path may leave.
func New(root, repository string, opts Options) *Renderer {
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.MaxOutput <= 0 {
		opts.MaxOutput = DefaultMaxOutput
	}
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	r := &Renderer{opts: opts, scopes: manifest.NewScopes()}
	r.tree, r.fault = source.NewTree(root, repository)
	charts := ""
	if !opts.NoCache {
		dir := opts.CacheDir
		if dir == "" {
			if user, err := os.UserCacheDir(); err == nil {
				dir = filepath.Join(user, "ladder")
			}
		}
		if dir != "" {
			r.cache = &cache{dir: filepath.Join(dir, "render")}
			charts = filepath.Join(dir, "charts")
		}
	}
	if opts.Fetch == nil {
		opts.Fetch = helm.Pull
	}
	r.opts.Fetch = nil
	if !opts.Offline {
		r.opts.Fetch = (&archives{fetch: opts.Fetch, dir: charts, known: map[string]*archive{}}).get
	}
	return r
}

// Component renders one component. It knows only the CRDs of what this
// Renderer rendered before, and of the component itself: use All where charts
// should see those of the whole repository.
func (r *Renderer) Component(ctx context.Context, c component.Component) ([]manifest.Object, error) {
	versions, scopes := r.known()
	objects, _, err := r.render(ctx, c, versions)
	if err != nil {
		return nil, err
	}
	r.learn(objects)
	for _, o := range objects {
		scopes.Add(o.Unstructured)
	}
	fillTargets(objects, c, scopes)
	return objects, nil
}

func (r *Renderer) known() ([]string, *manifest.Scopes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.versions), r.scopes.Clone()
}

// learn takes the CRDs among objects into account and reports whether there
// was a new version among them.
func (r *Renderer) learn(objects []manifest.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.versions)
	for _, o := range objects {
		crd, ok := manifest.ReadCRD(o.Unstructured)
		if !ok {
			continue
		}
		r.scopes.Add(o.Unstructured)
		for _, v := range crd.Versions {
			r.versions = append(r.versions, crd.Group+"/"+v, crd.Group+"/"+v+"/"+crd.Kind)
		}
	}
	slices.Sort(r.versions)
	r.versions = slices.Compact(r.versions)
	return len(r.versions) != before
}

// maxRounds bounds how often charts that ask for API versions are rendered.
const maxRounds = 3

// All renders components in parallel and returns their results in the order
// given. progress, where not nil, is called from one goroutine at a time after
// each component.
func (r *Renderer) All(ctx context.Context, cs []component.Component, progress func(done, total int, name string)) []Result {
	results := make([]Result, len(cs))
	asks := make([]bool, len(cs))
	round := func(which []int, versions []string, done func(i int)) {
		var group errgroup.Group
		group.SetLimit(r.opts.Workers)
		for _, i := range which {
			group.Go(func() error {
				objects, ask, err := r.render(ctx, cs[i], versions)
				results[i] = Result{Component: cs[i].Name, Objects: objects, Err: err}
				asks[i] = ask
				done(i)
				return nil
			})
		}
		_ = group.Wait() // the goroutines return no errors
	}
	which := make([]int, len(cs))
	for i := range which {
		which[i] = i
	}
	var mu sync.Mutex
	finished := 0
	report := func(i int) {
		mu.Lock()
		defer mu.Unlock()
		finished++
		if progress != nil {
			progress(finished, len(cs), cs[i].Name)
		}
	}
	for n := 0; n < maxRounds && len(which) > 0; n++ {
		versions, _ := r.known()
		round(which, versions, report)
		report = func(int) {}
		fresh := false
		for _, i := range which {
			fresh = r.learn(results[i].Objects) || fresh
		}
		if !fresh {
			break
		}
		which = slices.DeleteFunc(which, func(i int) bool { return !asks[i] })
	}
	_, scopes := r.known()
	for i := range results {
		fillTargets(results[i].Objects, cs[i], scopes)
	}
	return results
}

// render renders all sources of a component. asks is set when the result can
// depend on versions.
func (r *Renderer) render(ctx context.Context, c component.Component, versions []string) (objects []manifest.Object, asks bool, err error) {
	if r.fault != nil {
		return nil, false, r.fault
	}
	for _, src := range c.Sources {
		if err := ctx.Err(); err != nil {
			return nil, asks, fmt.Errorf("render %s: %w", c.Name, context.Cause(ctx))
		}
		out, ask, err := r.cached(ctx, c, src, versions)
		asks = asks || ask
		if err != nil {
			return nil, asks, r.explain(ctx, c, src, err)
		}
		objects = append(objects, out...)
	}
	return objects, asks, nil
}

// source renders one source, whatever its kind.
func (r *Renderer) source(ctx context.Context, view *source.View, c component.Component, src component.Source, versions []string) (helm.Result, error) {
	charts := helm.Options{
		KubeVersion: r.opts.KubeVersion,
		APIVersions: slices.Concat(r.opts.APIVersions, versions),
		Limits:      helm.Limits{Time: r.opts.Timeout, Output: r.opts.MaxOutput},
		Fetch:       r.opts.Fetch,
	}
	if src.RepoURL != "" && src.Kind != component.Chart {
		return helm.Result{}, source.Errorf(src.Position, "%s of repository %s is not in this repository, so it is not rendered; vendor it, or run Ladder there",
			src.Name, helm.Address(src))
	}
	switch src.Kind {
	case component.Chart:
		release := src.ReleaseName
		if release == "" {
			release = c.Name
		}
		return helm.Render(ctx, view, helm.Request{Source: src, Release: release, Namespace: c.Namespace}, charts)
	case component.Kustomize:
		return kustomize.Render(ctx, view, src, kustomize.Options{Charts: charts, Namespace: c.Namespace, Release: c.Name})
	case component.Manifests:
		objects, err := plain.Render(ctx, view, src, plain.Filter{})
		return helm.Result{Objects: objects}, err
	default:
		return helm.Result{}, source.Errorf(src.Position, "sources of kind %q cannot be rendered", src.Kind)
	}
}

// explain wraps what went wrong with a source.
func (r *Renderer) explain(ctx context.Context, c component.Component, src component.Source, err error) error {
	name := src.Path
	if src.RepoURL != "" {
		name = helm.RemoteName(src)
	}
	var problem *source.Error
	if errors.As(err, &problem) {
		at := problem.Position
		if at.File == "" {
			at = src.Position
		}
		if at.File == "" {
			at = c.Position
		}
		return &Error{Component: c.Name, Source: name, Position: at, Reason: problem.Reason, Err: err}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("render %s: %w", c.Name, context.Cause(ctx))
	}
	return &Error{Component: c.Name, Source: name, Position: src.Position, Reason: err.Error(), Err: err}
}

// fillTargets sets the namespace every object lands in.
func fillTargets(objects []manifest.Object, c component.Component, scopes *manifest.Scopes) {
	for i := range objects {
		o := &objects[i]
		gvk := o.GroupVersionKind()
		switch {
		case scopes.ClusterWide(gvk.Group, gvk.Kind):
			o.Target = ""
		case o.GetNamespace() != "":
			o.Target = o.GetNamespace()
		default:
			o.Target = c.Namespace
		}
	}
}
