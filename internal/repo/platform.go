package repo

import (
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// InputError says that a file or argument of the user cannot be understood;
// commands answer it with exit code 2.
type InputError = repofs.InputError

// InputErrors collects every InputError in the tree of err.
func InputErrors(err error) []*InputError { return repofs.InputErrors(err) }

// Options says what to open.
type Options struct {
	// Environment is the name of an environment; empty selects the only one,
	// or dev.
	Environment string
	// Roots are the files and folders that are applied by hand, relative to the
	// root of the platform; empty for those of the ladder file, else to find them.
	Roots []string
	// Known is a snapshot of what the Argo CD of the cluster KnownOf knows, instead of the
	// one that the ladder file names; nil for that.
	Known   []byte
	KnownOf string
	// Renderer makes the renderer of charts that make Applications, for a platform
	// and its repository (absolute paths); nil for none.
	Renderer func(root, repository string) Renderer
}

// Renderer renders a component.
type Renderer = argocd.Renderer

// Platform is one environment of a repository, read.
type Platform struct {
	// Root is the folder that positions and paths are relative to, Repository
	// the top of its repository: absolute paths with symbolic links resolved.
	Root       string
	Repository string
	// Ladder has every default filled in and its steps derived where the file
	// has none.
	Ladder      plan.Ladder
	Environment string
	// Components are sorted by order, then name; disabled ones are included.
	Components []model.Component
	// Namespaces are there before the first component: those that Argo CD runs in,
	// where the components are its Applications and nothing is said to come before
	// it.
	Namespaces []string
	// Findings are what is wrong with descriptors, Applications and the ladder
	// file.
	Findings   []finding.Finding
	Simulation SimulationConfig
	Lint       ladderfile.Lint
	// Argo is what the environment says to Argo CD.
	Argo argo.Setup
	// Flux is what the cluster is told by Kustomizations and HelmReleases; nil where
	// Flux does not apply the platform.
	Flux *fluxcd.Setup
	// ArgoCD is what the ladder file says of the objects of Argo CD that are
	// generated.
	ArgoCD ladderfile.ArgoCD
	// Applied says how the Applications come about that are the components; nil for
	// a platform of descriptors.
	Applied *Applied
	// Catalogue are the entries that ladder.yaml adds to the catalogue of charts, in
	// its order.
	Catalogue []CatalogueText

	tree *repofs.Tree
}

// Tree is what the platform was read from: as it was then, as far as it was looked
// at. All environments of one reading share it.
func (p *Platform) Tree() *repofs.Tree {
	if p.tree == nil {
		return &repofs.Tree{Root: p.Root, Repository: p.Repository}
	}
	return p.tree
}

// Applied says how the Applications of an environment come about.
type Applied struct {
	// ByHand is what somebody applies.
	ByHand []argocd.ByHand
	// Addresses are those under which the Applications know the repository, as
	// argocd.NormaliseAddress writes them, sorted.
	Addresses []string
	// Program is where a program of the repository applies them, of which it is not known what
	// else it makes; the zero value for none.
	Program finding.Position
	// Clusters are those besides the one that Argo CD runs in, as far as all is known
	// of them; NewGlobbing is set
	// where its Git generators match files by the newer globbing.
	Clusters    []appset.Cluster
	NewGlobbing bool
	// Found are the clusters that are taken to be there, Taken the addresses that are
	// taken to be the repository's, where the ladder file does not say.
	Found []argocd.Found
	Taken []string
}

// Own reports whether an address is one of the repository.
func (a *Applied) Own(address string) bool {
	return slices.Contains(a.Addresses, argocd.NormaliseAddress(address))
}

// CatalogueText is a list of catalogue entries in YAML or JSON, and where it is.
type CatalogueText struct {
	Text     []byte
	Position finding.Position
}

// SimulationConfig is what the repository says about the simulated world.
type SimulationConfig struct {
	// RuleFiles are relative to the root, sorted.
	RuleFiles []string
	// Durations are the expected times from start to Healthy of components, by
	// name; plan.Ladder.Durations has those of the types.
	Durations map[string]time.Duration
}

// Target returns what the ladder file says about the environment of the
// platform; the zero value with the name where it says nothing.
func (p *Platform) Target() plan.Environment {
	for _, e := range p.Ladder.Environments {
		if e.Name == p.Environment {
			return e
		}
	}
	return plan.Environment{Name: p.Environment}
}
