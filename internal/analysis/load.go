package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/fetch"
	"github.com/rollout-ladder/ladder/internal/repo/flux"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Options say what is loaded and how it is rendered. The zero value works.
type Options struct {
	// Environment is the name of an environment; empty selects the only one, or
	// dev.
	Environment string
	// Roots are the files and folders that are applied by hand, relative to the
	// root of the platform; empty to find them.
	Roots []string
	// Known is a snapshot of what the Argo CD of the cluster KnownOf knows, instead of the
	// one that ladder.yaml names; nil for that.
	Known   []byte
	KnownOf string
	// KubeVersion of the target; empty means the one of ladder.yaml, else that
	// of the plane.
	KubeVersion string
	// APIVersions are added to those of ladder.yaml.
	APIVersions []string
	Offline     bool
	// LocalCharts leaves charts and manifests of other places unrendered, so that what is
	// told does not depend on whether these can be reached.
	LocalCharts bool
	// AllowHosts are HOST or HOST:PORT of the command line, for which plain HTTP and
	// private addresses are allowed.
	AllowHosts []string
	CacheDir   string
	NoCache    bool
	// SecretKeysOnly leaves the values of Secrets out of the objects, which
	// proving and planning never look at.
	SecretKeysOnly bool
	// Progress is told how far rendering is; nil is fine.
	Progress func(done, total int, what string)
	// Opened is called by Load when the platform has been read, before its components
	// are rendered; nil is fine.
	Opened func()
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
	Platform *repo.Platform
	// Objects of every enabled component that could be rendered, by name.
	Objects map[string][]manifest.Object
	// Placed are the objects of Flux itself that components apply beside their objects.
	Placed map[string][]manifest.Object
	// Partial are the objects of components of which something could not be
	// rendered: those without it.
	Partial map[string][]manifest.Object
	// Unrendered is what could not be rendered, in the order of the ladder; a
	// component is named once for each of its sources.
	Unrendered []*render.Error
	// Dependencies between objects, Missing what nothing provides, Lacks what is not
	// in what is provided, and Edges between components.
	Dependencies []dependency.Dependency
	Missing      []dependency.Missing
	Lacks        []dependency.Lack
	// Installations are the operators that OLM installs.
	Installations []dependency.Installation
	Edges         []plan.Edge
	// Reversed are the edges that are not among Edges because Flux applies the consumer first.
	Reversed []plan.Edge
	// Argo is what the repository says to Argo CD.
	Argo argo.Setup
	// Findings of intake and inference, sorted.
	Findings []finding.Finding

	assess          assessment
	byHand, created func(finding.Resource) (finding.Evidence, bool)
	// releases are those of the Helmfiles, by environment.
	releases func(environment string) []lint.Release
	tree     *repofs.Tree
	lines    *manifest.Lines
	// certain are the CEL expressions of checks that are true whatever they look at.
	certain map[string]bool
}

// Precise gives evidence about fields the lines of the fields, instead of those
// of their objects. It reads files, so it is for what is printed.
func (r *Result) Precise(evidence []finding.Evidence) []finding.Evidence {
	precise := r.lines.Evidence(evidence)
	for i := range precise {
		precise[i].Text = finding.Redact(precise[i].Text)
	}
	return precise
}

// PreciseEdges does the same for edges.
func (r *Result) PreciseEdges(edges []plan.Edge) []plan.Edge {
	out := slices.Clone(edges)
	for i := range out {
		out[i].Evidence = r.Precise(out[i].Evidence)
	}
	return out
}

// Load reads, renders and infers. Unreadable input is an repo.InputError;
// what cannot be rendered is part of the result.
func Load(ctx context.Context, path string, o Options) (*Result, error) {
	r := newRun(o)
	defer r.close()
	return r.load(ctx, path, o.Environment)
}

// LoadAll loads every environment of a platform, or the one that is asked for, in
// the order of their names. Charts are fetched once for all. Errors of several
// environments are joined.
func LoadAll(ctx context.Context, path string, o Options) ([]*Result, error) {
	r, err := Look(ctx, path, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if o.Environment != "" {
		one, err := r.Load(ctx, o.Environment)
		if err != nil {
			return nil, err
		}
		return []*Result{one}, nil
	}
	var all []*Result
	var problems []error
	for _, environment := range r.Environments() {
		one, err := r.Load(ctx, environment)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		problems, all = append(problems, err), append(all, one)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return all, nil
}

// Repository is a platform whose environments are loaded one by one: what they
// share is read once. It is not safe for concurrent use.
type Repository struct {
	run  *run
	read *repo.Repository
}

// Look reads what the environments of a platform share.
func Look(ctx context.Context, path string, o Options) (*Repository, error) {
	r := newRun(o)
	read, err := repo.Look(ctx, path, r.intake(""))
	if err != nil {
		return nil, err
	}
	return &Repository{run: r, read: read}, nil
}

// Close removes what was fetched for the run and is not kept.
func (r *Repository) Close() { r.run.close() }

// Environments lists the environments, sorted.
func (r *Repository) Environments() []string { return r.read.Environments() }

// Load reads, renders and infers one environment; see the function Load.
func (r *Repository) Load(ctx context.Context, environment string) (*Result, error) {
	p, err := r.read.Platform(ctx, environment)
	if err != nil {
		return nil, err
	}
	return r.run.prove(ctx, p)
}

// run is what the environments of one run share.
type run struct {
	options Options
	fetcher *fetch.Fetcher // nil until something may be fetched
	shipped *health.Shipped
	// charts are the catalogues, by the texts that the platform adds: mostly the
	// same for all environments.
	charts map[string]*catalogue.Catalogue
	// told are what commands in the repository make.
	told map[*catalogue.Catalogue]func() handedOver
	// helmfiles are what the Helmfiles say; nil until a platform is read.
	helmfiles func() []*helmfile.Result
}

func newRun(o Options) *run {
	if o.NoCache || !render.Cached(o.CacheDir) {
		evaluate.Workers.Warm() // they will be needed, and start while files are read
	}
	return &run{
		options: o, shipped: health.NewShipped(), charts: map[string]*catalogue.Catalogue{},
		told: map[*catalogue.Catalogue]func() handedOver{},
	}
}

func (r *run) load(ctx context.Context, path, environment string) (*Result, error) {
	p, err := repo.Open(ctx, path, r.intake(environment))
	if err != nil {
		return nil, err
	}
	if r.options.Opened != nil {
		r.options.Opened()
	}
	return r.prove(ctx, p)
}

// intake says how a platform is read: the charts that make Applications are
// rendered like all others.
func (r *run) intake(environment string) repo.Options {
	return repo.Options{
		Environment: environment, Roots: r.options.Roots, Known: r.options.Known, KnownOf: r.options.KnownOf,
		Renderer: func(root, repository string) repo.Renderer {
			return render.New(root, repository, render.Options{
				KubeVersion: r.options.KubeVersion, APIVersions: r.options.APIVersions,
				Offline: r.options.Offline, CacheDir: r.options.CacheDir, NoCache: r.options.NoCache, SecretKeysOnly: r.options.SecretKeysOnly,
				Fetch: r.fetch(repository), Partial: true,
			})
		},
	}
}

// Open reads a platform without rendering more than that takes: the charts that
// make Applications.
func Open(ctx context.Context, path string, o Options) (*repo.Platform, error) {
	r := newRun(o)
	defer r.close()
	return repo.Open(ctx, path, r.intake(o.Environment))
}

// OpenAll reads every environment of a platform, or the one that is asked for, as Open
// does.
func OpenAll(ctx context.Context, path string, o Options) ([]*repo.Platform, error) {
	r := newRun(o)
	defer r.close()
	if o.Environment != "" {
		one, err := repo.Open(ctx, path, r.intake(o.Environment))
		return []*repo.Platform{one}, err
	}
	return repo.OpenAll(ctx, path, r.intake(""))
}

// prove renders a platform and infers what its components require.
func (r *run) prove(ctx context.Context, p *repo.Platform) (*Result, error) {
	out := &Result{Platform: p, Argo: p.Argo, Objects: map[string][]manifest.Object{}, Partial: map[string][]manifest.Object{}}
	out.assess = assessment{r.shipped, out.Argo.Settings}
	out.tree = p.Tree()
	out.lines = manifest.NewLines(out.tree.Read)
	enabled := make([]model.Component, 0, len(p.Components))
	for _, c := range p.Components {
		if c.Enabled {
			enabled = append(enabled, c)
		}
	}
	known, err := r.knowledge(p)
	if err != nil {
		return nil, err
	}
	if r.helmfiles == nil {
		r.helmfiles = helmfilesOf(ctx, out.tree)
	}
	out.byHand, out.created = r.byHand(ctx, out.tree, known, p.Environment), r.createdByHand(ctx, out.tree, known, p, out.missingSecrets)
	out.releases = func(environment string) []lint.Release { return installedByHelmfile(r.helmfiles, environment) }
	for _, one := range r.rendered(ctx, known, enabled) {
		var unrendered *render.Error
		switch {
		case one.Err == nil:
			out.Objects[one.Component] = one.Objects
		case errors.As(one.Err, &unrendered):
			out.Unrendered = append(out.Unrendered, one.Lacking...)
			known.lacking[one.Component] = one.Lacking
			if len(one.Objects) > 0 {
				out.Partial[one.Component] = one.Objects
			}
		default:
			return nil, fmt.Errorf("render %s: %w", one.Component, one.Err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	refused, certain := r.expressions(ctx, enabled)
	out.certain = certain
	out.infer(ctx, known, refused)
	return out, nil
}

// missingSecrets are the names of the Secrets that nothing provides.
func (r *Result) missingSecrets() map[string]bool {
	names := map[string]bool{}
	for _, m := range r.Missing {
		if m.Required.Kind == "Secret" {
			names[m.Required.Name] = true
		}
	}
	return names
}

// infer finds what the objects require and provide. It adds the expressions that are refused to
// the findings.
func (r *Result) infer(ctx context.Context, known *knowledge, refused []finding.Finding) {
	r.Placed = known.placed
	objects := maps.Clone(r.Partial)
	maps.Copy(objects, r.Objects)
	decoded := r.decode(objects)
	inferred := infer.Infer(infer.Input{
		Components: r.Platform.Components, Objects: objects, Placed: known.placed, Filled: filled(r.Platform.Flux), Catalogue: known.component,
		Assessed: r.assessed(), Waived: r.assess.settings.Waives, Order: orderOf(r.Platform), Existing: r.Platform.Namespaces, Read: r.tree.Read,
		Package: catalogue.KnownPackage, Related: related(r.Platform, known.catalogue),
	})
	r.Dependencies, r.Missing, r.Lacks, r.Edges = inferred.Dependencies, inferred.Missing, inferred.Lacks, inferred.Edges
	r.Installations = inferred.Installations
	r.findAside(ctx, objects)
	r.placeValues()
	r.orderFlux()
	r.Findings = slices.Concat(r.Platform.Findings, inferred.Findings, r.smokeImage(), refused)
	undecoded := decoded()
	for i, c := range r.Platform.Components {
		r.Findings = append(r.Findings, r.wrongWaves(c, objects[c.Name])...)
		r.Findings = append(r.Findings, r.repeats(c, objects[c.Name])...)
		r.Findings = append(r.Findings, undecoded[i]...)
		r.Findings = append(r.Findings, r.tooLong(c, objects[c.Name])...)
		r.Findings = append(r.Findings, r.ignoredOptions(c, objects[c.Name])...)
		r.Findings = append(r.Findings, r.unreadApplications(c, r.Objects[c.Name])...)
		r.Findings = append(r.Findings, r.nothing(ctx, c)...)
	}
	for i := range r.Findings {
		r.Findings[i].Environment = cmp.Or(r.Findings[i].Environment, r.Platform.Environment)
	}
	finding.Sort(r.Findings)
}

// assessed says which kinds a sync waits for. Flux judges every kind by its
// conditions.
func (r *Result) assessed() func(group, kind string) bool {
	if r.Platform.Flux != nil {
		return nil
	}
	return func(group, kind string) bool {
		return r.assess.by(schema.GroupKind{Group: group, Kind: kind}, nil) != ""
	}
}

// orderOf compares components of a platform: of Flux by what starts first; tiers come
// one after the other. It is nil where phases and waves say it all.
func orderOf(p *repo.Platform) func(a, b *model.Component) int {
	if p.Flux != nil {
		order := p.Flux.Ordered()
		return func(a, b *model.Component) int { return order.Compare(a.Name, b.Name) }
	}
	l := p.Ladder
	if l.Layout != plan.Tiers {
		return nil
	}
	return func(a, b *model.Component) int {
		s, t := slices.Index(l.Sets, a.Domain), slices.Index(l.Sets, b.Domain)
		if s >= 0 && t >= 0 && s != t && !a.PreArgo && !b.PreArgo {
			return cmp.Compare(s, t)
		}
		return model.Compare(a, b)
	}
}

// knowledge makes a renderer for a platform, and what it knows of charts.
func (r *run) knowledge(p *repo.Platform) (*knowledge, error) {
	charts, err := r.catalogue(p)
	if err != nil {
		return nil, err
	}
	known := &knowledge{catalogue: charts, lacking: map[string][]*render.Error{}, flux: p.Flux != nil, placed: map[string][]manifest.Object{}}
	target := p.Target()
	known.renderer = render.New(p.Root, p.Repository, render.Options{
		KubeVersion: cmp.Or(r.options.KubeVersion, target.KubeVersion),
		APIVersions: slices.Concat(target.APIVersions, r.options.APIVersions),
		Offline:     r.options.Offline || r.options.LocalCharts, CacheDir: r.options.CacheDir, NoCache: r.options.NoCache, SecretKeysOnly: r.options.SecretKeysOnly,
		Fetch: r.fetch(p.Repository), Partial: true, Known: known.crds, Unaddressed: isUnaddressed(p),
	})
	return known, nil
}

// rendered renders components of a platform; the results are in their order.
func (r *run) rendered(ctx context.Context, known *knowledge, components []model.Component) []render.Result {
	results := known.renderer.All(ctx, components, r.options.rendering())
	for i, c := range components {
		switch {
		case c.AppOfApps:
			results[i].Objects = slices.DeleteFunc(results[i].Objects, isArgo)
		case known.flux:
			known.placed[c.Name] = flux.Own(results[i].Objects)
			results[i].Objects = flux.Applied(results[i].Objects, c)
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

// ErrNoComponent says that an environment has no component of a name.
var ErrNoComponent = errors.New("there is no such component")

// One renders one component of a platform, disabled or not, as it is rendered
// with the others: charts see the CRDs of the whole repository.
func One(ctx context.Context, path, name string, o Options) (model.Component, []manifest.Object, error) {
	r := newRun(o)
	defer r.close()
	p, err := repo.Open(ctx, path, r.intake(o.Environment))
	if err != nil {
		return model.Component{}, nil, err
	}
	wanted := slices.IndexFunc(p.Components, func(c model.Component) bool { return c.Name == name })
	if wanted < 0 {
		return model.Component{}, nil, unknownComponent(p, name)
	}
	var with []model.Component
	for i, c := range p.Components {
		if c.Enabled || i == wanted {
			with = append(with, c)
		}
	}
	known, err := r.knowledge(p)
	if err != nil {
		return model.Component{}, nil, err
	}
	for _, one := range r.rendered(ctx, known, with) {
		if one.Component != name {
			continue
		}
		var unrendered *render.Error
		if errors.As(one.Err, &unrendered) {
			return p.Components[wanted], nil, &repo.InputError{Position: unrendered.Position, Message: unrendered.Reason}
		}
		return p.Components[wanted], one.Objects, one.Err
	}
	return p.Components[wanted], nil, ctx.Err()
}

func unknownComponent(p *repo.Platform, name string) error {
	names := make([]string, len(p.Components))
	for i, c := range p.Components {
		names[i] = c.Name
	}
	hint := cmp.Or(yamldoc.Meant(name, names), "ladder inventory lists them")
	return &repo.InputError{
		Message: fmt.Sprintf("there is no component %q in environment %s", name, p.Environment), Hint: hint, Err: ErrNoComponent,
	}
}
