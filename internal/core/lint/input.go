package lint

import (
	"time"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Input is one environment of a platform, read, rendered and inferred.
type Input struct {
	Environment string
	Ladder      plan.Ladder
	// Components in their order, disabled ones included.
	Components []model.Component
	// Objects of all rendered components, by component in their order.
	Objects []Object
	// Own are the objects of Flux itself that components apply beside these: they stand for other
	// components, or for sources.
	Own []Object
	// Unapplied are the objects of them that a sync which succeeds never applies: Helm's
	// test hooks, and hooks for a failure.
	Unapplied []Object
	// Waits are what the charts wait for by themselves.
	Waits []Wait
	// Empty are the names of components that were rendered, to no object.
	Empty []string
	// Dependencies between objects, those within a component included.
	Dependencies []dependency.Dependency
	Missing      []dependency.Missing
	Lacks        []dependency.Lack
	// Installations are the operators that the Operator Lifecycle Manager installs.
	Installations []dependency.Installation
	// Edges are Dependencies and declared requirements, merged by component.
	Edges []plan.Edge
	// Certain are the CEL expressions of checks that are true whatever they look at.
	Certain map[string]bool
	// Unrendered are the names of components that could not be rendered.
	Unrendered []string
	Argo       argo.Setup
	// Flux is what the cluster is told by Flux; nil where that does not apply it.
	Flux *fluxcd.Setup
	// ByHand is the command in the repository by which somebody makes a CRD, a Namespace or a
	// webhook by hand; nil where none is known.
	ByHand func(finding.Resource) (finding.Evidence, bool)
	// Created is the command or text in the repository by which somebody creates an object of
	// another kind; nil where that is not known.
	Created func(finding.Resource) (finding.Evidence, bool)
	// Written is where a file of values has a name that a component writes to a field, as evidence
	// tells it; the zero value where that is not certain, nil where it is not known.
	Written func(component, name string, e finding.Evidence) finding.Position
	// Helmfile are the releases that the Helmfiles of the repository install; nil where
	// none are known.
	Helmfile func() []Release
	// LeftOut tells what was not read where the functions above looked; it is asked when all rules have
	// run. It is nil where there is nothing to tell.
	LeftOut func() []finding.Finding
	// Findings are those made while reading, rendering and inferring; they obey
	// the same settings as those of rules.
	Findings []finding.Finding

	// order is made once for all rules of a run.
	order *order
}

// Inert says why nothing of an object can fail in a rollout.
type Inert string

// Why nothing can fail. The commands of a Job are not told: they may hold what a template has
// filled in of a secret.
const (
	// EndsWell is a Job or Pod that ends with 0 in any case.
	EndsWell Inert = "its command ends with 0 whatever the commands in it say"
	// Suspended is a CronJob that never runs, which Argo CD assesses as Healthy.
	Suspended Inert = "it is suspended and runs nothing"
	// Scheduled is a CronJob, which is Healthy before its first run.
	Scheduled Inert = "its schedule runs it, not the sync, and it is Healthy before"
	// Idle is what runs nothing and waits for nothing.
	Idle Inert = "it runs nothing and waits for nothing"
)

// Object is what rules need to know of a rendered object.
type Object struct {
	Component string
	Resource  finding.Resource
	Place     dependency.Place
	// Wave is the sync wave as it is written. Place has another one for a Namespace
	// or CRD that Argo CD moves to the first object that needs it.
	Wave        int
	SyncOptions []string
	Labels      map[string]string
	// Deadline is how long a Job or Workflow may run; 0 is for ever.
	Deadline time.Duration
	// HelmTest is set of the test hooks of charts.
	HelmTest bool
	// Inert says why nothing of it can fail in a rollout, although its kind is assessed; empty
	// where something can.
	Inert Inert
	// Once is set of what Flux applies only where it is not there, or never.
	Once bool
	// Health says who assesses the health of the kind: "builtin", "configured",
	// "workload", or "" where nobody does and it counts as Healthy at once.
	Health   string
	Position finding.Position
	// Images are those of its pods whose references are told, in their order.
	Images []Image
	// Versions are those that it tells of itself, the surest first, where something is
	// applied before Argo CD.
	Versions []Version
	// Digest is of what an object of Flux itself says; empty for others.
	Digest string
}

// placed puts a finding about a name to the file of values that has it; its evidence says which
// template takes it.
func (in Input) placed(f finding.Finding, name string) finding.Finding {
	if in.Written == nil || len(f.Evidence) == 0 {
		return f
	}
	if at := in.Written(f.Component, name, f.Evidence[0]); at.File != "" {
		f.Position = at
	}
	return f
}
