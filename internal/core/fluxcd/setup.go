package fluxcd

import (
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Poll is how often Flux looks whether a dependency is Ready. Source:
// kustomize-controller and helm-controller, flag --requeue-dependency.
const Poll = 30 * time.Second

// Setup is what one cluster is told.
type Setup struct {
	// Units are the Kustomizations and HelmReleases of the cluster; references are
	// indices into it.
	Units []Unit
	// Poll is how often the controllers look at what waits.
	Poll time.Duration
}

// Kind is the kind of a unit.
type Kind string

// The kinds of unit.
const (
	Kustomization Kind = "Kustomization"
	HelmRelease   Kind = "HelmRelease"
)

// Unit is one Kustomization or HelmRelease.
type Unit struct {
	Kind            Kind
	Namespace, Name string
	// Component is the component that stands for it; empty for one that is suspended,
	// or has nothing to apply.
	Component string
	// Parent is the Kustomization that applies it; -1 for none.
	Parent int
	// Unawaited is set where Parent does not wait for it, whatever its Wait says: a ResourceSet
	// in between does not.
	Unawaited bool
	DependsOn []Reference
	// Wait is set where it is Ready only when everything that it applies is. A
	// HelmRelease waits for the workloads of its chart.
	Wait bool
	// Checks are the units that its health checks name, Checked is set where it has
	// any health checks. They do not count where Wait is set.
	Checks  []int
	Checked bool
	// CRDs are the names of the CustomResourceDefinitions that its health checks name, whoever brings
	// them: it is Ready once they are there. They do not count where Wait is set.
	CRDs []string
	// Workloads is set where it applies objects itself that take time to be Ready.
	Workloads bool
	Suspended bool
	// Elsewhere is set where it applies to another cluster than its own (kubeConfig).
	Elsewhere bool
	// Also are the other units that apply it beside its Parent.
	Also []int
	// Supposed is set for one that is written nowhere, and stands for what nobody is known to
	// apply: what it holds may be applied by several.
	Supposed bool
	// Sources are the Secrets and ConfigMaps in its namespace that it takes values from: without
	// them a Kustomization applies nothing, and a HelmRelease installs nothing.
	Sources []Source
	// Retries is set where a failed apply or install is tried again without a change.
	Retries bool
	// RetryInterval is the time between two tries; 0 where it grows.
	RetryInterval time.Duration
	// Before is where something installs it before Flux runs, as a Helmfile that
	// bootstraps the cluster; the zero value for nowhere.
	Before   finding.Position
	Position finding.Position
}

// Source is a Secret or ConfigMap that has values, and the field that names it.
type Source struct{ Kind, Name, Field string }

// Reference is an entry of dependsOn.
type Reference struct {
	Namespace, Name string
	// Unit is what it names; -1 where nothing that was read has the name.
	Unit int
	// Expression is set where a readyExpr says when it is met.
	Expression bool
	Position   finding.Position
}

// String names the unit as Flux's command line does.
func (u *Unit) String() string { return string(u.Kind) + " " + u.Namespace + "/" + u.Name }

// Gates reports whether it waits for anything but its own apply to be Ready.
func (u *Unit) Gates() bool { return u.Wait || u.Checked }
