package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/intake/argocd"
	"github.com/rollout-ladder/ladder/internal/intake/descriptor"
	"github.com/rollout-ladder/ladder/internal/intake/files"
	"github.com/rollout-ladder/ladder/internal/intake/ladderfile"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// environmentsFolder holds one folder per environment.
const environmentsFolder = "environments"

// defaultEnvironment is the one that is opened when several exist and none is
// named.
const defaultEnvironment = "dev"

// Open reads one environment of the platform that dir belongs to. Unreadable
// input is one InputError, or several joined.
func Open(ctx context.Context, dir string, opts Options) (*Platform, error) {
	r, err := open(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	environment, err := r.selectEnvironment(opts.Environment)
	if err != nil {
		return nil, err
	}
	return r.platform(ctx, environment)
}

// OpenAll reads every environment, sorted by name; the repository itself is read
// once. Environments that cannot be read are left out and are the error, one
// InputError or several joined; the others are returned with it.
func OpenAll(ctx context.Context, dir string, opts Options) ([]*Platform, error) {
	r, err := open(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	var all []*Platform
	var problems []error
	for _, environment := range r.environments {
		p, err := r.platform(ctx, environment)
		switch {
		case err == nil:
			all = append(all, p)
		case len(InputErrors(err)) > 0:
			problems = append(problems, err)
		default:
			return nil, err
		}
	}
	return all, errors.Join(problems...)
}

// platform reads one environment.
func (r *repository) platform(ctx context.Context, environment string) (*Platform, error) {
	p := &Platform{
		Root: r.tree.Root, Repository: r.tree.Repository,
		Ladder: r.file.Ladder, Environment: environment,
		Findings:   slices.Clone(r.file.Findings),
		Simulation: SimulationConfig{Durations: r.file.Durations},
		Lint:       r.file.Lint,
	}
	var problems []error
	read, err := r.read(ctx, environment)
	if err != nil {
		if len(InputErrors(err)) == 0 {
			return nil, fmt.Errorf("read environment %s: %w", environment, err)
		}
		problems = append(problems, err)
	}
	p.Argo = read.Setup
	pre, preFindings, err := r.preArgo(environment)
	problems = append(problems, err)
	p.Findings = append(append(p.Findings, read.Findings...), preFindings...)
	p.Simulation.RuleFiles, err = r.ruleFiles(ctx)
	problems = append(problems, err)
	p.Catalogue, err = r.catalogue(ctx)
	problems = append(problems, err)
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}

	if r.overlays != nil && len(pre) == 0 {
		p.Namespaces = r.applications.Namespaces()
	}
	var findings []finding.Finding
	p.Components, findings = merge(pre, read.Components)
	p.Findings = append(p.Findings, findings...)
	if len(p.Ladder.Steps) == 0 {
		p.Ladder.Steps = rollingSteps(p.Argo, p.Components)
		if len(p.Ladder.Steps) > 0 && r.overlays != nil && !r.file.LayoutSet {
			p.Ladder.Layout = plan.Single
		}
	}
	if len(p.Ladder.Steps) == 0 {
		p.Ladder.Steps = ladderfile.DeriveSteps(p.Ladder, p.Components)
	}
	sortComponents(p.Ladder, p.Components)
	for i := range p.Findings {
		p.Findings[i].Environment = cmp.Or(p.Findings[i].Environment, environment)
	}
	finding.Sort(p.Findings)
	return p, nil
}

// Environments lists the environments of the platform that dir belongs to,
// sorted, as far as they are known without rendering charts.
func Environments(ctx context.Context, dir string) ([]string, error) {
	return EnvironmentsOf(ctx, dir, Options{})
}

// EnvironmentsOf lists the environments that OpenAll would read.
func EnvironmentsOf(ctx context.Context, dir string, opts Options) ([]string, error) {
	r, err := open(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	return r.environments, nil
}

// repository is a platform before an environment is chosen.
type repository struct {
	tree         *files.Tree
	file         *ladderfile.File
	environments []string
	opts         Options
	// applications is the repository as Argo CD sees it; nil for a platform of
	// descriptors that was not asked for it yet.
	applications *argocd.Repository
	// overlays are the environments of applications, by name; nil for a platform
	// of descriptors.
	overlays map[string]argocd.Environment
}

func open(ctx context.Context, dir string, opts Options) (*repository, error) {
	tree, err := files.Discover(dir)
	if err != nil {
		return nil, err
	}
	r := &repository{tree: tree, file: ladderfile.Default(), opts: opts}
	names, err := tree.List(".")
	if err != nil {
		return nil, err
	}
	if slices.Contains(names, ladderfile.Name) {
		data, err := tree.Read(ladderfile.Name)
		if err != nil {
			return nil, err
		}
		if r.file, err = ladderfile.Parse(ladderfile.Name, data); err != nil {
			return nil, err
		}
	}
	if len(opts.Roots) == 0 {
		if r.environments, err = r.findEnvironments(); err != nil {
			return nil, err
		}
	}
	if len(r.environments) == 0 {
		if err := r.findApplications(ctx); err != nil {
			return nil, err
		}
	}
	if len(r.environments) == 0 {
		return nil, &InputError{
			Message: fmt.Sprintf("%s holds no platform", dir),
			Hint:    "a platform has environments/<name>/components/**/component.yaml or Argo CD Applications",
		}
	}
	return r, ctx.Err()
}

// findEnvironments lists the environments of a platform of descriptors: the
// folders of environments/ that hold components/, and those of the ladder file.
// A ladder file that names overlays, and no folder of descriptors anywhere, is
// that of a repository of Applications: then there are none.
func (r *repository) findEnvironments() ([]string, error) {
	names, err := r.tree.List(environmentsFolder)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range names {
		folder := path.Join(environmentsFolder, name)
		if _, err := r.tree.Resolve(folder, finding.Position{}); err != nil {
			return nil, err
		}
		if !r.tree.IsDir(folder) {
			continue
		}
		components := path.Join(environmentsFolder, name, "components")
		if _, err := r.tree.Resolve(components, finding.Position{}); err != nil {
			return nil, err
		}
		if r.tree.IsDir(components) {
			found = append(found, name)
		}
	}
	descriptors := len(found) > 0
	for _, folders := range r.file.Folders {
		descriptors = descriptors || len(folders.Components) > 0
	}
	if !descriptors {
		return nil, nil
	}
	for name := range r.file.Folders {
		found = append(found, name)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// findApplications reads the repository as Argo CD does. The overlays that the
// ladder file names are the environments; without any they are found.
func (r *repository) findApplications(ctx context.Context) error {
	err := r.scan(ctx)
	if err != nil {
		return err
	}
	var all []argocd.Environment
	for name, folders := range r.file.Folders {
		if folders.Overlay == "" || len(r.opts.Roots) > 0 {
			continue
		}
		if _, err := r.tree.Resolve(folders.Overlay, folders.Position); err != nil {
			return err
		}
		if !r.tree.IsDir(folders.Overlay) {
			return &InputError{Position: folders.Position, Message: fmt.Sprintf("there is no folder %s", folders.Overlay), Hint: "path names the folder of an overlay"}
		}
		all = append(all, argocd.Environment{Name: name, Overlay: path.Clean(folders.Overlay)})
	}
	if len(all) == 0 {
		if all, err = r.applications.Environments(ctx); err != nil {
			return err
		}
	}
	if unreadable := r.applications.Unreadable(); len(all) == 0 && unreadable != nil {
		return unreadable
	}
	if !r.file.LayoutSet {
		r.file.Ladder.Layout = plan.AppOfApps
	}
	r.overlays = map[string]argocd.Environment{}
	for _, e := range all {
		r.overlays[e.Name] = e
		r.environments = append(r.environments, e.Name)
	}
	slices.Sort(r.environments)
	return nil
}

func (r *repository) selectEnvironment(name string) (string, error) {
	list := strings.Join(r.environments, ", ")
	switch {
	case name != "" && slices.Contains(r.environments, name):
		return name, nil
	case name != "":
		return "", &InputError{Message: fmt.Sprintf("there is no environment %q", name), Hint: "the environments are " + list}
	case len(r.environments) == 1:
		return r.environments[0], nil
	case slices.Contains(r.environments, defaultEnvironment):
		return defaultEnvironment, nil
	default:
		return "", &InputError{Message: "the platform has several environments", Hint: "name one with --environment: " + list}
	}
}

// scan looks through the repository for what is Argo CD's.
func (r *repository) scan(ctx context.Context) error {
	opts := argocd.Options{Data: r.file.Repository.Generators, Aliases: r.file.Repository.Aliases, Roots: r.file.Repository.Roots}
	if len(r.opts.Roots) > 0 {
		opts.Roots = r.opts.Roots
	}
	if r.opts.Renderer != nil {
		opts.Renderer = r.opts.Renderer(r.tree.Root, r.tree.Repository)
	}
	var err error
	r.applications, err = argocd.Scan(ctx, r.tree, opts)
	return err
}

// read reads the components of an environment and what it says to Argo CD.
func (r *repository) read(ctx context.Context, environment string) (argocd.Reading, error) {
	if r.overlays != nil {
		return r.applications.Read(ctx, r.overlays[environment])
	}
	components, findings, err := r.descriptors(ctx, environment)
	if err != nil {
		return argocd.Reading{}, err
	}
	if r.applications == nil {
		if err := r.scan(ctx); err != nil {
			return argocd.Reading{}, err
		}
	}
	setup, err := r.applications.Setup(ctx, components)
	return argocd.Reading{Components: components, Setup: setup, Findings: findings}, err
}

// descriptors reads the components of an environment of descriptors.
func (r *repository) descriptors(ctx context.Context, environment string) ([]component.Component, []finding.Finding, error) {
	folders := []string{path.Join(environmentsFolder, environment, "components")}
	if written := r.file.Folders[environment].Components; len(written) > 0 {
		folders = folders[:0]
		for _, p := range written {
			if _, err := r.tree.Resolve(p.Path, p.Position); err != nil {
				return nil, nil, err
			}
			if !r.tree.IsDir(p.Path) {
				return nil, nil, &InputError{Position: p.Position, Message: fmt.Sprintf("there is no folder %s", p.Path), Hint: "components lists folders of descriptors"}
			}
			folders = append(folders, p.Path)
		}
	}
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

func (r *repository) context(environment string) descriptor.Context {
	ctx := descriptor.Context{Tree: r.tree, Environment: environment, Bands: r.file.Ladder.Bands}
	for _, e := range r.file.Ladder.Environments {
		if e.Name == environment {
			ctx.Layers = e.Values
		}
	}
	return ctx
}

// preArgo reads the manifests that are applied before Argo CD exists.
func (r *repository) preArgo(environment string) ([]component.Component, []finding.Finding, error) {
	against := r.context(environment)
	against.PreArgo = true
	var (
		components []component.Component
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
	return components, findings, errors.Join(problems...)
}

// ruleFiles expands the patterns of simulation.rules.
func (r *repository) ruleFiles(ctx context.Context) ([]string, error) {
	var all []string
	var problems []error
	for _, pattern := range r.file.Rules {
		found, err := r.glob(ctx, pattern)
		all = append(all, found...)
		problems = append(problems, err)
	}
	slices.Sort(all)
	return slices.Compact(all), errors.Join(problems...)
}

// catalogue reads the entries and files of entries that ladder.yaml names.
func (r *repository) catalogue(ctx context.Context) ([]CatalogueText, error) {
	var all []CatalogueText
	var problems []error
	for _, item := range r.file.Catalogue {
		if item.Entry != nil {
			text, err := json.Marshal([]any{item.Entry.Any()})
			if err != nil {
				problems = append(problems, &InputError{Position: item.Entry.Position, Message: "the catalogue entry cannot be read: " + err.Error()})
				continue
			}
			all = append(all, CatalogueText{text, item.Entry.Position})
			continue
		}
		found, err := r.glob(ctx, item.Files)
		problems = append(problems, err)
		for _, file := range found {
			text, err := r.tree.Read(file)
			problems = append(problems, err)
			all = append(all, CatalogueText{text, finding.Position{File: file, Line: 1}})
		}
	}
	return all, errors.Join(problems...)
}

// glob finds the files that match a pattern; none is an error.
func (r *repository) glob(ctx context.Context, pattern ladderfile.Pattern) ([]string, error) {
	if !doublestar.ValidatePattern(pattern.Path) {
		return nil, &InputError{Position: pattern.Position, Message: fmt.Sprintf("%s is not a valid pattern", pattern.Path)}
	}
	base, rest := doublestar.SplitPattern(path.Clean(pattern.Path))
	if _, err := r.tree.Resolve(base, pattern.Position); err != nil {
		return nil, err
	}
	found, err := r.tree.Find(ctx, base, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(file string) bool {
		rel := strings.TrimPrefix(strings.TrimPrefix(file, base), "/")
		ok, err := doublestar.Match(rest, rel)
		return !ok || err != nil
	})
	if len(found) == 0 {
		return nil, &InputError{Position: pattern.Position, Message: fmt.Sprintf("no file matches %s", pattern.Path), Hint: "patterns are relative to the root of the platform"}
	}
	return found, nil
}

// merge puts the pre-Argo components first and reports names used in both.
func merge(pre, rest []component.Component) ([]component.Component, []finding.Finding) {
	first := map[string]component.Component{}
	var all []component.Component
	var findings []finding.Finding
	for _, c := range slices.Concat(pre, rest) {
		if other, ok := first[c.Name]; ok {
			if other.Position == c.Position && other.Namespace == c.Namespace && reflect.DeepEqual(other.Sources, c.Sources) {
				continue // one Application that two parents apply
			}
			findings = append(findings, descriptor.Duplicate(other, c))
			continue
		}
		first[c.Name] = c
		all = append(all, c)
	}
	return all, findings
}

// sortComponents orders by place, then name. Components without a place come
// last.
func sortComponents(l plan.Ladder, components []component.Component) {
	rank := func(c component.Component) int {
		switch {
		case c.PreArgo:
			return 0
		case c.Phase == component.NoPhase && len(c.Waves) == 0 && c.Step == 0:
			return 2
		default:
			return 1
		}
	}
	set := func(c component.Component) int {
		if l.Layout != plan.Tiers {
			return 0
		}
		return ladderfile.SetIndex(l, c.Domain)
	}
	slices.SortStableFunc(components, func(a, b component.Component) int {
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
