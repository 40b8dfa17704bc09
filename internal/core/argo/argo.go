package argo

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Setup is what one environment of a repository says to Argo CD.
type Setup struct {
	// Applications of every kind, parents and those that ApplicationSets generate
	// included, sorted by name, then position.
	Applications    []Application
	ApplicationSets []ApplicationSet
	// Above are the parents by which somebody applies the sets of descriptors, where these
	// give the components waves: they are no Applications of the descriptors.
	Above    []Application
	Projects []Project
	Settings Settings
	// Misplaced are sync waves that are written beside the annotations or misspelt,
	// where the API server drops them; sorted by position.
	Misplaced []Misplaced
}

// Misplaced is a sync wave that Argo CD does not see.
type Misplaced struct {
	// In is the section of metadata that it stands in: "labels", "annotations" under a
	// Key that is misspelt, or empty for metadata itself.
	In, Key string
	// Object is the object it is written in, Component the component of that
	// object, empty for one of Argo CD's own.
	Object    finding.Resource
	Component string
	// Template is set where it is in the template of an ApplicationSet.
	Template bool
	Position finding.Position
}

// Application is one Application, written or generated.
type Application struct {
	Name, Namespace string
	// Placed is where its namespace is written; the zero value where it is not.
	Placed finding.Position
	// Component is the component that stands for it; empty for a parent that
	// applies nothing but Applications.
	Component string
	Project   string
	// Parent is the Application that applies it, Set the ApplicationSet that
	// generates it; empty where there is none.
	Parent, Set string
	// Self is set where what it applies has it: somebody has applied all of that before.
	Self bool
	// Assumed is set where its set is only supposed to make it: what the generators
	// ask is not in the repository.
	Assumed bool
	Wave    Wave
	Labels  map[string]string
	// Automated is set where spec.syncPolicy.automated is there and not disabled,
	// SelfHeal where it corrects changes on the cluster as well.
	Automated, SelfHeal bool

	SyncOptions []string
	// Needs are what its kustomizations cannot be built without, one for each option.
	Needs []BuildNeed
	// Sources are the addresses and charts it may use, as AppProjects judge them.
	Sources     []Source
	Destination Destination
	// DependsOn is the position of a field spec.dependsOn, which Argo CD does not
	// have; the zero value where it was not written.
	DependsOn finding.Position
	Position  finding.Position
}

// Wave is the sync wave written on an object.
type Wave struct {
	// Value counts; 0 where nothing was written or it is not a number.
	Value int
	// Written is the text of the annotation, empty where there is none.
	Written string
	// Of names the value of a chart that writes it, empty where none does. Template is set
	// where it is not known which one that is, and Position is that of the template.
	Of       string
	Template bool
	Position finding.Position
}

// Source is one source of an Application.
type Source struct {
	RepoURL, Path, Chart, Revision string
}

// Destination is where an Application goes.
type Destination struct {
	Server, Name, Namespace string
}

// ApplicationSet is one ApplicationSet.
type ApplicationSet struct {
	Name, Namespace string
	Parent          string
	Wave            Wave
	// RollingSync is set where the strategy is RollingSync; only then do Steps
	// order the Applications.
	RollingSync bool
	Steps       []Step
	// Applications are the names of those it generates, as far as its generators
	// could be read.
	Applications []string
	// Unread is set where it may generate others than these.
	Unread bool
	// Template is where the template of the Applications starts; TemplateWave the
	// sync wave it stamps on them, which orders nothing.
	Template     finding.Position
	TemplateWave Wave
	Position     finding.Position
}

// Step is one RollingSync step.
type Step struct {
	// MatchExpressions must all hold.
	MatchExpressions []Expression
	// MaxUpdate as written: "3", "25%", "0"; empty means no limit.
	MaxUpdate string
	Position  finding.Position
}

// Expression matches the labels of a generated Application.
type Expression struct {
	Key      string
	Operator string // In or NotIn
	Values   []string
}

// Matches reports whether a step matches labels. All expressions must hold, so
// that a step without any matches everything. A key that is missing fails In
// alone; an operator that is not known fails where the key is there. Source: Argo
// CD, applicationset/progressivesync, buildAppDependencyList.
func (s Step) Matches(labels map[string]string) bool {
	for _, e := range s.MatchExpressions {
		if !e.matches(labels) {
			return false
		}
	}
	return true
}

func (e Expression) matches(labels map[string]string) bool {
	value, ok := labels[e.Key]
	switch e.Operator {
	case "In":
		return ok && slices.Contains(e.Values, value)
	case "NotIn":
		return !ok || !slices.Contains(e.Values, value)
	default:
		return !ok
	}
}

// Project is one AppProject.
type Project struct {
	Name string
	// Parent is the Application that applies it, in the wave Wave; empty where there is none.
	Parent       string
	Wave         Wave
	SourceRepos  []string
	Destinations []Destination
	// The four lists of kinds; nil where the field is not written.
	ClusterAllow, ClusterDeny, NamespaceAllow, NamespaceDeny []GroupKind
	Position                                                 finding.Position
	// Unapplied is set where nothing that was read applies it: the cluster may have
	// another.
	Unapplied bool
}

// GroupKind is a pattern of kinds: "*" matches everything.
type GroupKind struct{ Group, Kind string }

// Inherit gives a project what the global ones allow. Which projects a global one
// is for, its label selector says; here it is for all, and what it denies is left
// out, so that nothing is taken to be forbidden that may be allowed. Source: Argo
// CD, "Configuring Global Projects".
func (p Project) Inherit(global []Project) Project {
	for _, g := range global {
		p.SourceRepos = append(p.SourceRepos[:len(p.SourceRepos):len(p.SourceRepos)], g.SourceRepos...)
		p.Destinations = append(p.Destinations[:len(p.Destinations):len(p.Destinations)], g.Destinations...)
		p.ClusterAllow = append(p.ClusterAllow[:len(p.ClusterAllow):len(p.ClusterAllow)], g.ClusterAllow...)
		if p.NamespaceAllow != nil { // else everything is allowed
			p.NamespaceAllow = append(p.NamespaceAllow[:len(p.NamespaceAllow):len(p.NamespaceAllow)], g.NamespaceAllow...)
		}
	}
	return p
}
