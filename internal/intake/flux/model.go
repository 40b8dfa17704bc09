package flux

import (
	"time"

	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/manifest"
)

// Result is what a repository says to Flux.
type Result struct {
	Clusters []Cluster
	Problems []Problem
}

// Cluster is one cluster: everything that one root applies.
type Cluster struct {
	Name string
	// Path is the folder that the root applies.
	Path           string
	Kustomizations []Kustomization
	Releases       []Release
}

// Kind says what a Problem is about.
type Kind string

// The kinds of Problem.
const (
	Build        Kind = "build"        // a path that cannot be built
	Secret       Kind = "secret"       // something encrypted, or values of a Secret
	Substitution Kind = "substitution" // a variable of postBuild
	Source       Kind = "source"       // a source that is elsewhere
	Values       Kind = "values"       // values that are not in the repository
	Option       Kind = "option"       // a setting without an equivalent
	Depends      Kind = "dependsOn"    // a dependency that is not there
	Invalid      Kind = "invalid"      // a field that Flux would refuse
)

// Problem is something that is not in the result.
type Problem struct {
	Kind          Kind
	Cluster, Name string
	Message, Hint string
	// Mild is set where nothing of the order or the content is lost.
	Mild     bool
	Position finding.Position
}

// Reference names another object.
type Reference struct {
	Namespace, Name string
	Position        finding.Position
}

// Kustomization is one Flux Kustomization.
type Kustomization struct {
	Namespace, Name string
	// Path is the folder that it applies, relative to the root; empty where that is
	// elsewhere.
	Path string
	// Parent is the index of the Kustomization that applies it; -1 for none.
	Parent    int
	DependsOn []Reference
	// Wait is set where it is ready only when what it applies is.
	Wait    bool
	Suspend bool
	Timeout time.Duration
	// Objects are what it applies, without Flux's own kinds and what is encrypted,
	// with its options and substitutions applied.
	Objects []manifest.Object
	// Removed are the objects of the built folder that are not among Objects.
	Removed []Identity
	// Options are what it sets over the folder, as a kustomization writes them.
	Options map[string]any
	// Filled is set where variables were filled into the objects, or where the
	// folder has no kustomization: the folder alone does not give them.
	Filled   bool
	Position finding.Position
}

// Identity names an object of a folder.
type Identity struct{ APIVersion, Kind, Namespace, Name string }

// Release is one HelmRelease.
type Release struct {
	Namespace, Name string
	// Kustomization is the index of the one that applies it.
	Kustomization   int
	ReleaseName     string
	TargetNamespace string
	DependsOn       []Reference
	// Repository, Chart and Version name a chart of a repository; Path is that of a
	// chart in this one.
	Repository, Chart, Version, Path string
	// Values are those of ConfigMaps of the repository and the inline ones, later
	// ones win.
	Values          []map[string]any
	SkipCRDs        bool
	CreateNamespace bool
	Suspend         bool
	Timeout         time.Duration
	Position        finding.Position
}
