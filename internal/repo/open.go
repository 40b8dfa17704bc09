package repo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/flux"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// environmentsFolder holds one folder per environment, with its descriptors in
// componentsFolder.
const (
	environmentsFolder = "environments"
	componentsFolder   = "components"
)

// defaultEnvironment is the one that is opened when several exist and none is
// named.
const defaultEnvironment = "dev"

// Open reads one environment of the platform that dir belongs to. Unreadable
// input is one InputError, or several joined.
func Open(ctx context.Context, dir string, opts Options) (*Platform, error) {
	r, err := Look(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	return r.Platform(ctx, opts.Environment)
}

// OpenAll reads every environment, sorted by name; the repository itself is read
// once. Environments that cannot be read are left out and are the error, one
// InputError or several joined; the others are returned with it.
func OpenAll(ctx context.Context, dir string, opts Options) ([]*Platform, error) {
	r, err := Look(ctx, dir, opts)
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

// Environments lists the environments, sorted, as far as they are known without
// rendering charts.
func (r *Repository) Environments() []string { return slices.Clone(r.environments) }

// Platform reads one environment: the one that is named, or the only one, or dev.
// Unreadable input is one InputError, or several joined.
func (r *Repository) Platform(ctx context.Context, name string) (*Platform, error) {
	environment, err := r.selectEnvironment(name)
	if err != nil {
		return nil, err
	}
	return r.platform(ctx, environment)
}

func (r *Repository) platform(ctx context.Context, environment string) (*Platform, error) {
	p := &Platform{
		Root: r.tree.Root, Repository: r.tree.Repository, tree: r.tree,
		Ladder: r.file.Ladder, Environment: environment,
		Findings:   slices.Clone(r.file.Findings),
		Simulation: SimulationConfig{Durations: r.file.Durations},
		Lint:       r.file.Lint,
		ArgoCD:     r.file.ArgoCD,
	}
	var problems []error
	var fluxRead flux.Reading
	_, ofArgo := r.overlays[environment]
	ofFlux := r.flux != nil && !ofArgo
	if ofFlux {
		fluxRead, _ = r.flux.Reading(environment) // it is one of the environments
		p.Flux = fluxRead.Setup
		if !r.file.LayoutSet {
			p.Ladder.Layout = plan.DependsOn
		}
	}
	read, err := r.read(ctx, environment, fluxRead)
	if err != nil {
		if len(InputErrors(err)) == 0 {
			return nil, fmt.Errorf("read environment %s: %w", environment, err)
		}
		problems = append(problems, err)
	}
	p.Argo = read.Setup
	if ofArgo {
		p.Applied = &Applied{
			ByHand: r.overlays[environment].ByHand(), Addresses: r.applications.Addresses(), Program: r.overlays[environment].Program,
			Clusters: r.applications.Clusters(), NewGlobbing: r.applications.NewGlobbing(),
			Found: r.applications.Found(), Taken: r.applications.Taken(),
		}
	}
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

	if ofArgo || len(r.overlays) == 0 {
		p.Findings = append(p.Findings, r.besides...)
	}
	p.Findings = append(p.Findings, r.others...)
	switch {
	case len(pre) > 0:
	case ofArgo:
		p.Namespaces = r.applications.Namespaces(read)
	case ofFlux:
		p.Namespaces = fluxRead.Namespaces
	}
	var findings []finding.Finding
	p.Components, findings = merge(pre, read.Components)
	p.Findings = append(p.Findings, findings...)
	labels := r.labels(p, ofArgo)
	readPhases(p.Argo, p.Components, labels)
	if len(p.Ladder.Steps) > 0 {
		p.Findings = append(p.Findings, r.overridden(p)...)
	} else {
		applied, unapplied, err := r.applied(ctx, p)
		if err != nil {
			return nil, err
		}
		var sets []string
		p.Ladder.Steps, sets = rollingSteps(p.Argo, applied, labels)
		if !p.Argo.Settings.Unordered() {
			p.Ladder.RollingSets, p.Ladder.Unapplied = sets, unapplied
		}
		if len(sets) == 1 && ofArgo && !r.file.LayoutSet {
			p.Ladder.Layout = plan.Single
		}
	}
	if len(p.Ladder.Steps) == 0 {
		p.Ladder.Steps = ladderfile.DeriveSteps(p.Ladder, p.Components)
		limitBySets(p)
	}
	if !ofFlux {
		apart := sideBySide(p.Argo, p.Components, ofArgo)
		for i := range apart {
			if ofArgo {
				apart[i].Severity = finding.Info // it is the plan that says less
			}
		}
		p.Findings = append(p.Findings, apart...)
	}
	if p.Ladder.Layout != plan.Tiers {
		p.Findings = append(p.Findings, reversed(p.Argo, p.Ladder.Steps, p.Components)...)
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
	r, err := Look(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	return r.environments, nil
}

// Repository is a platform before an environment is chosen: what all environments
// share, read once. It is not safe for concurrent use.
type Repository struct {
	tree         *repofs.Tree
	file         *ladderfile.File
	environments []string
	opts         Options
	// applications is the repository as Argo CD sees it; nil for a platform of
	// descriptors that was not asked for it yet.
	applications *argocd.Repository
	// overlays are the environments of applications, by name; nil for a platform
	// of descriptors.
	overlays map[string]argocd.Environment
	// placed are the components that sets below parents generate of descriptors; nil
	// until it is asked for.
	placed map[generated]placed
	// single are the folders that Applications apply which no set makes, and duplicates the
	// findings about Applications of one name; known with placed.
	single     map[string]bool
	duplicates []finding.Finding
	// besides says what is written for others than Argo CD, in a repository that is read
	// as Argo CD reads it.
	besides []finding.Finding
	// others says what other programs make a platform of.
	others []finding.Finding
	// flux is the repository as Flux sees it; nil unless Flux applies it, or a part of it
	// beside Argo CD.
	flux *flux.Result
}

// Look reads what the environments of the platform that dir belongs to share.
func Look(ctx context.Context, dir string, opts Options) (*Repository, error) {
	tree, err := repofs.Discover(dir)
	if err != nil {
		return nil, err
	}
	r := &Repository{tree: tree, file: ladderfile.Default(), opts: opts}
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
		// What is wrong with Applications matters only where there is nothing else.
		var unreadable error
		if !r.rootsOfFlux(ctx) {
			unreadable = r.findApplications(ctx)
		}
		if unreadable != nil && (len(InputErrors(unreadable)) == 0 || len(r.file.Folders) > 0) {
			return nil, unreadable
		}
		if len(r.environments) == 0 {
			if err := r.findClusters(ctx); err != nil {
				if unreadable != nil && (r.applications == nil || r.applications.Any()) {
					err = unreadable
				}
				return nil, err
			}
		}
		if len(r.environments) == 0 && unreadable != nil {
			return nil, unreadable
		}
	}
	if len(r.environments) == 0 {
		return nil, r.noPlatform(ctx, dir)
	}
	if len(opts.Roots) == 0 {
		r.findOthers(ctx)
	}
	return r, ctx.Err()
}

// scan looks through the repository for what is Argo CD's, apart from the files
// that skip says.
func (r *Repository) scan(ctx context.Context, skip func(content []byte) bool) error {
	opts := argocd.Options{Data: r.file.Repository.Generators, Aliases: r.file.Repository.Aliases, Roots: r.file.Repository.Roots, Skip: skip}
	opts.Snapshot, opts.SnapshotAt = r.file.Repository.Snapshot.Path, r.file.Repository.Snapshot.Position
	opts.Known, opts.KnownOf = r.opts.Known, r.opts.KnownOf
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
func (r *Repository) read(ctx context.Context, environment string, cluster flux.Reading) (argocd.Reading, error) {
	overlay, ofArgo := r.overlays[environment]
	switch {
	case ofArgo:
		reading, err := r.applications.Read(ctx, overlay)
		if input := (*InputError)(nil); len(r.opts.Roots) > 0 && !r.applications.Any() && errors.As(err, &input) {
			if refused := flux.NotSynced(ctx, r.tree, input.Position.File); !errors.Is(refused, flux.ErrNothing) {
				return argocd.Reading{}, refused
			}
		}
		if err == nil {
			err = r.declare(ctx, environment, reading.Components)
		}
		return reading, err
	case r.flux != nil:
		return argocd.Reading{Components: cluster.Components, Findings: cluster.Findings}, ctx.Err()
	}
	if r.applications == nil {
		// What was generated of the descriptors says nothing that they do not.
		if err := r.scan(ctx, ladderfile.IsGenerated); err != nil {
			return argocd.Reading{}, err
		}
	}
	components, findings, err := r.descriptors(ctx, environment)
	if err != nil {
		return argocd.Reading{}, err
	}
	setup, twice, err := r.applications.Setup(ctx, components, r.appliedSets)
	if err != nil {
		return argocd.Reading{}, err
	}
	if r.shares(environment) {
		twice = nil // each environment has its set, and its own Argo CD perhaps
	}
	findings = append(append(findings, twice...), keepLadder(r.file.Ladder.Layout, components)...)
	setup.Above, err = r.placeSets(ctx, components)
	findings = append(findings, r.besideSets(setup)...)
	return argocd.Reading{Components: components, Setup: setup, Findings: findings}, err
}

// ruleFiles expands the patterns of simulation.rules.
func (r *Repository) ruleFiles(ctx context.Context) ([]string, error) {
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
func (r *Repository) catalogue(ctx context.Context) ([]CatalogueText, error) {
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
func (r *Repository) glob(ctx context.Context, pattern ladderfile.Pattern) ([]string, error) {
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
