package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollout-ladder/ladder/internal/cachedir"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
	layers "github.com/rollout-ladder/ladder/internal/repo/render/values"
)

// Options of a Renderer; the zero value works.
type Options struct {
	// KubeVersion of the target, such as "1.36"; default that of the plane.
	KubeVersion string
	// APIVersions of the target beyond those of Kubernetes and of the
	// repository's CRDs: "group/version" or "group/version/Kind".
	APIVersions []string
	// Unaddressed says that nothing tells which repository this is.
	Unaddressed bool
	// Offline forbids the network.
	Offline bool
	// CacheDir is where results are kept between runs; default
	// $XDG_CACHE_HOME/ladder.
	CacheDir string
	// NoCache neither reads nor writes the cache.
	NoCache bool
	// SecretKeysOnly leaves the values of Secrets out of the objects. The cache
	// has none, so who needs them renders again what holds Secrets.
	SecretKeysOnly bool
	// Timeout is how much CPU time one source may take; default 20 s.
	Timeout time.Duration
	// MaxOutput bounds the text one source renders to, in bytes; default 32 MiB.
	MaxOutput int
	// Workers is how many components are rendered at once; default twice
	// GOMAXPROCS, so that those that wait for a process that evaluates leave no core idle.
	Workers int
	// Fetch gets what is remote; not used offline.
	Fetch evaluate.Fetch
	// Partial renders what can be rendered of a component, without the sources
	// that cannot; Result.Lacking names them.
	Partial bool
	// Known tells the CRDs of a source that could not be rendered, so that charts
	// are told their API versions; nil knows none.
	Known func(*Error) []manifest.CRD
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
	// Lacking is what could not be rendered, Err first. Objects are what there is
	// without it, where a part was asked for.
	Lacking []*Error
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
		opts.Workers = 2 * runtime.GOMAXPROCS(0)
	}
	r := &Renderer{opts: opts, scopes: manifest.NewScopes()}
	r.tree, r.fault = source.NewTree(root, repository)
	if dir := cachedir.Join(opts.CacheDir, cachedir.Render); dir != "" && !opts.NoCache {
		r.cache = openCache(dir)
	}
	return r
}

// Cached reports whether there is a cache of results; dir is that of Options.
func Cached(dir string) bool { return cachedir.Exists(dir, cachedir.Render) }

// Component renders one component. It knows only the CRDs of what this
// Renderer rendered before, and of the component itself: use All where charts
// should see those of the whole repository.
func (r *Renderer) Component(ctx context.Context, c model.Component) ([]manifest.Object, error) {
	versions, scopes := r.known()
	one := r.render(ctx, c, versions)
	objects := one.Objects
	if one.Err != nil && !r.opts.Partial {
		return nil, one.Err
	}
	r.learn(one.Result)
	for _, o := range objects {
		scopes.Add(o.Unstructured)
	}
	fillTargets(objects, c, scopes)
	return objects, one.Err
}

func (r *Renderer) known() ([]string, *manifest.Scopes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.versions), r.scopes.Clone()
}

// learn takes the CRDs of a result into account, those that are known of what is
// lacking included, and reports whether there was a new version among them.
func (r *Renderer) learn(result Result) bool {
	var known []manifest.CRD
	for _, l := range result.Lacking {
		if r.opts.Known != nil {
			known = append(known, r.opts.Known(l)...)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.versions)
	learn := func(crd manifest.CRD) {
		for _, v := range crd.Versions {
			r.versions = append(r.versions, crd.Group+"/"+v, crd.Group+"/"+v+"/"+crd.Kind)
		}
	}
	for _, o := range result.Objects {
		if crd, ok := manifest.ReadCRD(o.Unstructured); ok {
			r.scopes.Add(o.Unstructured)
			learn(crd)
		}
	}
	for _, crd := range known {
		r.scopes.AddCRD(crd)
		learn(crd)
	}
	slices.Sort(r.versions)
	r.versions = slices.Compact(r.versions)
	return len(r.versions) != before
}

// maxRounds bounds how often charts that ask for API versions are rendered.
const maxRounds = 3

// All renders components in parallel and returns their results in the order
// given. progress, where not nil, is called from one goroutine at a time: before the
// first component, without a name, and after each.
func (r *Renderer) All(ctx context.Context, cs []model.Component, progress func(done, total int, name string)) []Result {
	results := make([]Result, len(cs))
	asks := make([]bool, len(cs))
	round := func(which []int, versions []string, done func(i int)) {
		var group errgroup.Group
		group.SetLimit(r.opts.Workers)
		for _, i := range which {
			group.Go(func() error {
				one := r.render(ctx, cs[i], versions)
				results[i], asks[i] = one.Result, one.asks
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
	if progress != nil {
		progress(0, len(cs), "")
	}
	report := func(i int) {
		mu.Lock()
		defer mu.Unlock()
		finished++
		if progress != nil {
			progress(finished, len(cs), cs[i].Name)
		}
	}
	// At first no CRD is there, as on a new cluster.
	var atFirst []Result
	for n := 0; n < maxRounds && len(which) > 0; n++ {
		var versions []string
		if n > 0 {
			versions, _ = r.known()
		}
		round(which, versions, report)
		report = func(int) {}
		all, _ := r.known()
		fresh := n == 0 && len(all) > 0
		if n == 0 {
			atFirst = slices.Clone(results)
		}
		for _, i := range which {
			fresh = r.learn(results[i]) || fresh
		}
		if !fresh {
			break
		}
		which = slices.DeleteFunc(which, func(i int) bool { return !asks[i] })
	}
	_, scopes := r.known()
	for i := range results {
		if asks[i] {
			guard(results[i].Objects, atFirst[i])
		}
		fillTargets(results[i].Objects, cs[i], scopes)
	}
	return results
}

// guard marks the objects that are not there without the CRDs of the repository.
func guard(objects []manifest.Object, atFirst Result) {
	if len(atFirst.Objects) == 0 && atFirst.Err != nil {
		return // it cannot be rendered without
	}
	there := map[finding.Resource]bool{}
	for _, o := range atFirst.Objects {
		there[o.Resource()] = true
	}
	for i := range objects {
		objects[i].Guarded = !there[objects[i].Resource()]
	}
}

// rendered is a result that can depend on API versions where asks is set.
type rendered struct {
	Result
	asks bool
}

// render renders all sources of a component.
func (r *Renderer) render(ctx context.Context, c model.Component, versions []string) rendered {
	out := rendered{Result: Result{Component: c.Name}}
	if r.fault != nil {
		out.Err = r.fault
		return out
	}
	for _, src := range c.Sources {
		if err := ctx.Err(); err != nil {
			out.Err = fmt.Errorf("render %s: %w", c.Name, context.Cause(ctx))
			return out
		}
		result, objects, err := r.result(ctx, c, src, versions)
		out.asks = out.asks || result.Asks
		out.Objects = append(out.Objects, objects...)
		for _, l := range result.Lacking {
			out.Lacking = append(out.Lacking, lackingOf(c, l.Lacking()))
		}
		switch {
		case err != nil:
			err = r.explain(ctx, c, src, err)
			var problem *Error
			if !errors.As(err, &problem) {
				out.Err = err
				return out
			}
			// What fails without its values may well be whole with them.
			problem.Part = problem.Part || errors.Is(err, source.ErrWithout)
			if src.Incomplete != "" {
				problem.Part = problem.Part || !lacksFolder(err, src)
				problem.Reason += " (" + src.Incomplete + ")"
			}
			if src.Revision != "" && !problem.Part {
				problem.Position, problem.Reason = src.Position, fmt.Sprintf("the Application takes %s from the revision %s, and as it is in this checkout it is not rendered: %s", src.Path, src.Revision, problem.Reason)
			}
			out.Lacking = append(out.Lacking, problem)
		case src.Incomplete != "":
			out.Lacking = append(out.Lacking, incomplete(c, src, src.Incomplete+"; it is rendered without"))
		case src.Revision != "" && len(objects) == 0:
			out.Lacking = append(out.Lacking, incomplete(c, src,
				fmt.Sprintf("the Application takes %s from the revision %s, and as it is in this checkout it holds no objects", src.Path, src.Revision)))
		}
		if len(out.Lacking) > 0 {
			out.Err = out.Lacking[0]
			if !r.opts.Partial {
				out.Objects = nil
				return out
			}
		}
	}
	return out
}

// lacksFolder reports whether a source is not there at all, which no values mend.
func lacksFolder(err error, src model.Source) bool {
	var missing *fs.PathError
	return errors.As(err, &missing) && errors.Is(missing, fs.ErrNotExist) && missing.Path == src.Path
}

// lackingOf is the error of a part that was left out.
func lackingOf(c model.Component, l source.Lacking) *Error {
	name := cmp.Or(l.Source.RepoURL, l.Source.Path)
	if l.Source.Kind == model.Chart {
		name = source.RemoteName(l.Source)
	}
	return &Error{Component: c.Name, Source: name, Position: l.Err.Position, Reason: l.Err.Reason, Err: l.Err, Missing: l.Source, Namespace: l.Namespace, Moved: l.Moved, Deleted: l.Deleted, Part: true}
}

// incomplete is the error of a source that is rendered, and of which more is not known.
func incomplete(c model.Component, src model.Source, reason string) *Error {
	name := src.Path
	if src.RepoURL != "" {
		name = source.RemoteName(src)
	}
	missing := src
	missing.ReleaseName = cmp.Or(src.ReleaseName, c.Name)
	err := source.Errorf(src.Position, "%s", reason)
	return &Error{Component: c.Name, Source: name, Position: src.Position, Reason: err.Reason, Err: err, Missing: missing, Namespace: c.Namespace, Part: true}
}

// Values merges the values that a source is rendered with. complete is false
// where some of them cannot be read, and it is not known which.
func (r *Renderer) Values(src model.Source) (values map[string]any, complete bool) {
	if r.fault != nil || src.Kind == model.Git {
		return nil, false
	}
	values, complete = layers.Of(r.tree.View(), src)
	return values, complete && (src.Incomplete == "" || len(src.Withheld) > 0)
}

// source renders one source, whatever its kind.
func (r *Renderer) source(ctx context.Context, view *source.Recording, c model.Component, src model.Source, versions []string) (wire.Reply, error) {
	if src.Refused != "" {
		return wire.Reply{}, source.Errorf(src.Position, "%s", src.Refused)
	}
	if src.RepoURL != "" && src.Kind != model.Chart {
		view.MarkRemote()
		return r.elsewhere(ctx, c, src, versions)
	}
	return r.evaluate(ctx, view, c, src, versions)
}

func (r *Renderer) evaluate(ctx context.Context, view *source.Recording, c model.Component, src model.Source, versions []string) (wire.Reply, error) {
	return evaluate.Source(ctx, view, wire.Request{
		Source: src, Component: c.Name, Namespace: c.Namespace,
		KubeVersion: r.opts.KubeVersion, APIVersions: slices.Concat(r.opts.APIVersions, versions),
		MaxOutput: r.opts.MaxOutput, Partial: r.opts.Partial, Offline: r.opts.Offline,
	}, r.opts.Fetch, r.opts.Timeout)
}

// explain wraps what went wrong with a source.
func (r *Renderer) explain(ctx context.Context, c model.Component, src model.Source, err error) error {
	name := src.Path
	if src.RepoURL != "" {
		name = source.RemoteName(src)
	}
	missing := src
	if missing.ReleaseName == "" {
		missing.ReleaseName = c.Name
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
		return &Error{Component: c.Name, Source: name, Position: at, Reason: problem.Reason, Err: err, Missing: missing, Namespace: c.Namespace}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("render %s: %w", c.Name, context.Cause(ctx))
	}
	return fmt.Errorf("render %s: %w", c.Name, err) // not a problem of the repository
}

// fillTargets sets the namespace every object lands in, and has the Helm tests of a
// component that asks for them run in its sync.
func fillTargets(objects []manifest.Object, c model.Component, scopes *manifest.Scopes) {
	for i := range objects {
		o := &objects[i]
		if c.HelmTest && manifest.IsHelmTest(o.Unstructured) {
			manifest.RunAfterSync(o.Unstructured)
		}
		gvk := o.GroupVersionKind()
		switch {
		case scopes.ClusterWide(gvk.Group, gvk.Kind):
			o.Target, o.ClusterWide = "", o.GetNamespace() != ""
		case o.GetNamespace() != "":
			o.Target = o.GetNamespace()
		default:
			o.Target = c.Namespace
		}
	}
}
