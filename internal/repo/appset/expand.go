package appset

import (
	"context"
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// MaxApplications is how many Applications one ApplicationSet may generate.
const MaxApplications = 20_000

// Repository is what generators see of the repository.
type Repository interface {
	// Own reports whether an address is that of this repository.
	Own(repoURL string) bool
	// Files are the paths of all files, as Git sources see them, sorted.
	Files() []string
	// Read returns the content of one of them.
	Read(file string) ([]byte, error)
}

// Cluster is a cluster that Argo CD knows.
type Cluster struct {
	Name, Server, Project string
	Labels, Annotations   map[string]string
	// OpenLabels and OpenAnnotations are set where it may have more than are known.
	OpenLabels, OpenAnnotations bool
	// Position is where the repository describes it; zero for one that the ladder file
	// gives.
	Position finding.Position
	// Elsewhere is set where it is known to another installation of Argo CD than the
	// one that has the ApplicationSet.
	Elsewhere bool
	// Assumed is what is taken to be so of it; empty where nothing is.
	Assumed string
}

// Data is what generators would learn outside the repository.
type Data struct {
	// Clusters are those besides the one that Argo CD runs in. There may be others
	// where they are Found.
	Clusters []Cluster
	Found    bool
	// Parameters are those of other generators, by the field that holds the
	// generator: pullRequest, scmProvider, plugin, clusterDecisionResource.
	Parameters map[string][]Parameters
	// NewGlobbing has a star of a Git generator's files stop at a slash. Source: Argo
	// CD, argocd-cmd-params-cm, applicationsetcontroller.enable.new.git.file.globbing.
	NewGlobbing bool
}

// Parameters are one set of parameters that a generator makes.
type Parameters struct {
	// ApplicationSet that has them; empty for all.
	ApplicationSet string
	Values         map[string]any
	Position       finding.Position
}

// Application is one that was generated.
type Application struct {
	// Value is the object, Template what it was filled in from.
	Value, Template *yamldoc.Value
	// Parameters are those it was made of: nested for Go templates, else flat.
	Parameters map[string]any
	// Element is what the last generator made it of: an element of a list, a
	// file, or the generator itself.
	Element finding.Position
	// Assumed is set where a generator is only supposed to make such a one. What
	// needs a parameter that is not known is {{name}}, or left out.
	Assumed bool
	// Cluster is which of the clusters of Data it is made for, from 1; 0 for none.
	Cluster int
	// Namespace is how the namespace of the destination is written, where it is made of
	// parameters that are not known.
	Namespace string
	// Lacks says of each source which of its values are not known; empty where all
	// are.
	Lacks []string

	// called is its name before that was settled.
	called string
}

// Result is what an ApplicationSet generates.
type Result struct {
	Applications []Application
	// Unread are the reasons why something is missing, in the order of the
	// generators.
	Unread []*repofs.InputError
	// Assumed are the reasons why something is only supposed.
	Assumed []*repofs.InputError
}

// Expand generates the Applications of an ApplicationSet. The error is that of
// ctx alone; what is wrong with the set is part of the result.
func Expand(ctx context.Context, set *yamldoc.Value, repository Repository, data Data) (Result, error) {
	spec := set.At("spec")
	x := &expansion{
		ctx: ctx, repository: repository, data: data,
		set:    set.TextAt("metadata", "name"),
		engine: newEngine(spec),
	}
	generators := spec.At("generators")
	if generators == nil || len(generators.Items) == 0 {
		x.unread(fail(set.Position, "add spec.generators", "the ApplicationSet %s has no generators", x.set))
		return x.result, ctx.Err()
	}
	for _, g := range generators.Items {
		x.generator(set, g)
	}
	return x.result, ctx.Err()
}

// expansion is one run over one ApplicationSet.
type expansion struct {
	ctx        context.Context
	repository Repository
	data       Data
	set        string
	engine     *engine
	result     Result
	// overriding is set below the children of a merge that only override the first.
	overriding bool
	// reasons are why parameters of the generator at hand are not known.
	reasons []*repofs.InputError
}

func (x *expansion) unread(err *repofs.InputError) {
	if !slices.ContainsFunc(x.result.Unread, func(known *repofs.InputError) bool {
		return known.Position == err.Position && known.Message == err.Message
	}) {
		x.result.Unread = append(x.result.Unread, err)
	}
}

func fail(at finding.Position, hint, format string, args ...any) *repofs.InputError {
	return &repofs.InputError{Position: at, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// generator makes the Applications of one generator.
func (x *expansion) generator(set, g *yamldoc.Value) {
	x.reasons = nil
	sets, err := x.parameters(g, nil)
	if err != nil {
		x.unread(err)
		return
	}
	written := overridden(g, set.At("spec", "template"))
	if written == nil || written.Kind != yamldoc.Map {
		x.unread(fail(set.Position, "add spec.template", "the ApplicationSet %s has no template", x.set))
		return
	}
	assumed := false
	for _, p := range sets {
		if x.ctx.Err() != nil {
			return
		}
		if len(x.result.Applications) == MaxApplications {
			x.unread(fail(g.Position, "", "the ApplicationSet %s generates more than %d Applications", x.set, MaxApplications))
			return
		}
		value, err := x.application(set, written, p)
		if err != nil {
			x.unread(err)
			continue
		}
		app := Application{Value: value, Template: written, Parameters: p.values, Element: p.at, Assumed: p.assumed, Cluster: p.cluster}
		// What is made for a cluster is what it says, as far as that is known.
		if x.engine.partly && (p.cluster == 0 || marked(value) != nil) {
			err := x.settle(set, &app, len(sets) == 1)
			switch {
			case err != nil && p.assumed:
				x.unread(err)
				continue
			case err != nil:
				// It is there, whatever it applies.
				app.Value = restored(value)
			}
			if app.Value == nil {
				continue
			}
			app.Parameters = knownOnly(p.values)
		}
		assumed = assumed || app.Assumed
		x.result.Applications = append(x.result.Applications, app)
	}
	if assumed {
		x.result.Assumed = append(x.result.Assumed, x.reasons...)
	}
}
