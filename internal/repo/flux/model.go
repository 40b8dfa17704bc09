package flux

import (
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Result is what a repository says to Flux.
type Result struct {
	Clusters []Cluster
	Problems []Problem
	// Before are the releases that are installed before Flux runs, in the order of the
	// files.
	Before []Before
	// Poll is how often the controllers look at what waits for dependencies.
	Poll time.Duration
	// Left are the Kustomizations and HelmReleases in files that no cluster reads, and
	// what Ladder does not read, sorted by position.
	Left []Left
	// Templates are the Kustomizations that templates of other tools make.
	Templates []Left
	// part is set where the platform is only a part of what Flux reads.
	part bool
}

// Before is a release that something installs before Flux runs. Chart is the last part
// of its name, "." where it is not written.
type Before struct {
	Name, Namespace, Chart string
	Position               finding.Position
}

// Left is something of Flux's that was not read.
type Left struct {
	Kind, Name, Reason string
	// Cluster is the one that applies it; empty for none.
	Cluster  string
	Position finding.Position
}

// Cluster is one cluster: everything that one root applies.
type Cluster struct {
	Name           string
	Kustomizations []Kustomization
	Releases       []Release
	// guessed is set where nothing says that the folder is synced.
	guessed bool
	// gathers is set where nothing says either which Kustomizations there are.
	gathers bool
	// unawaited are the objects of ResourceSets that do not wait for them, by kind, namespace and
	// name.
	unawaited map[string]bool
	// namespaces are those that ResourceSets make at the start, whatever else is applied.
	namespaces []string
}

// Withheld is a value of a release that a Secret holds.
type Withheld struct{ Path, Why string }

// Kind says what a Problem is about.
type Kind string

// The kinds of Problem.
const (
	Build        Kind = "build"        // a path that cannot be built
	Missing      Kind = "missing"      // a folder that is not there
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
	// Expression is set where a readyExpr says when it is ready.
	Expression bool
	Position   finding.Position
}

// Kustomization is one Flux Kustomization.
type Kustomization struct {
	Namespace, Name string
	// Path is the folder that it applies, relative to the root; empty where that is
	// elsewhere.
	Path string
	// Elsewhere says where what it applies is, where that is not in this repository.
	Elsewhere *Elsewhere
	// Made is set for the one that a cluster starts with where nothing in the
	// repository writes it down.
	Made bool
	// Plain is set where the files of its folder are applied one by one, whatever one is called; Only
	// are those of them that are, as a glob, empty for all.
	Plain bool
	Only  string
	// Parent is the index of the Kustomization that applies it; -1 for none.
	Parent    int
	DependsOn []Reference
	// Wait is set where it is ready only when what it applies is; WaitAll where that is
	// all of it, not only what HealthChecks name.
	Wait, WaitAll bool
	HealthChecks  []Check
	Suspend       bool
	Timeout       time.Duration
	// RetryInterval is the time after which a failed apply is tried again.
	RetryInterval time.Duration
	// Sources are the Secrets and ConfigMaps that must be there for it to fill variables in.
	Sources []fluxcd.Source
	// KubeConfig names what gives access to the cluster that it applies to; empty for
	// the cluster that Flux runs in.
	KubeConfig string
	// Objects are what it applies, without Flux's own kinds, with its options and
	// variables applied. For an import, what is encrypted is not among them.
	Objects []manifest.Object
	// Decrypts is set where it has a provider that decrypts; Encrypted is the first Secret that is
	// encrypted in a file of its own, the zero value for none.
	Decrypts  bool
	Encrypted finding.Position
	// Unpatched is set where its folder could not be built as a whole, so that patches may be missing.
	Unpatched bool
	// Removed are the objects of the built folder that are not among Objects.
	Removed []Identity
	// Options are what it sets over the folder, as a kustomization writes them.
	Options map[string]any
	// PostBuild is what is done with what the folder builds.
	PostBuild *model.PostBuild
	// Unknown are the sources of variables that are not in the repository.
	Unknown []string
	// Filled is set for an import where variables were filled into the objects, or
	// where the folder has no kustomization: the folder alone does not give them.
	Filled   bool
	Position finding.Position
}

// Elsewhere is a source that is not in this repository.
type Elsewhere struct {
	// Kind and Name are those of the source; URL and Revision are empty where the
	// source is not known.
	Kind, Name, URL, Revision string
	// Unwritten is set where nothing in the repository makes the source.
	Unwritten bool
	// Path is the folder in it.
	Path string
}

// Check is an object that a health check names.
type Check struct{ APIVersion, Kind, Namespace, Name string }

// Identity names an object of a folder.
type Identity struct{ APIVersion, Kind, Namespace, Name string }

// Release is one HelmRelease.
type Release struct {
	Namespace, Name string
	// Kustomization is the index of the one that applies it; -1 for none.
	Kustomization   int
	ReleaseName     string
	TargetNamespace string
	DependsOn       []Reference
	// Repository, Chart and Version name a chart of a repository; Path is that of a
	// chart in this one.
	Repository, Chart, Version, Path string
	// Unknown says why the chart is not known; empty where it is.
	Unknown string
	// Elsewhere is set where the chart is in a source that is not this repository.
	Elsewhere bool
	// Values are those of ConfigMaps of the repository and the inline ones, later
	// ones win.
	Values []map[string]any
	// ValuesFiles are files in the chart that replace its own values.
	ValuesFiles []string
	// Unfilled are the variables in them that are not known.
	Unfilled []string
	// Incomplete says which values are not known, and why; Withheld are the dotted paths of
	// others, which Secrets hold.
	Incomplete []string
	Withheld   []Withheld
	SkipCRDs   bool
	// Sources are the Secrets and ConfigMaps that must be there for it to have its values.
	Sources []fluxcd.Source
	// PostRendered is set where Flux changes what the chart renders to.
	PostRendered    bool
	CreateNamespace bool
	// Also are the numbers of the Kustomizations that apply it beside that one.
	Also []int
	// Waits is set where it is ready only when its workloads are, Retries where a
	// failed install is tried again.
	Waits, Retries bool
	Suspend        bool
	Timeout        time.Duration
	// RetryInterval is the time after which a failed install is tried again; 0 where each try
	// comes later than the one before.
	RetryInterval time.Duration
	KubeConfig    string
	// Remote is the cluster that its Kustomization applies it to; empty for that of Flux.
	Remote   string
	Position finding.Position
}

func (r *Release) key() string { return releaseKey(r.Remote, r.Namespace, r.Name) }
