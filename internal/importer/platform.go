package importer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Level says how much a Note matters.
type Level string

// The levels, from the gravest to the mildest.
const (
	// Lost is what is not in the result: a person has to do something about it.
	Lost Level = "lost"
	// Changed is carried over in another form.
	Changed Level = "changed"
	// Told is worth knowing; nothing is to be done.
	Told Level = "told"
)

func (l Level) rank() int {
	switch l {
	case Lost:
		return 0
	case Changed:
		return 1
	default:
		return 2
	}
}

// Note says what was not carried over as it was, and why.
type Note struct {
	Level Level `json:"level"`
	// What names the kind of thing: "hook", "secret", "template", ...
	What        string           `json:"what"`
	Environment string           `json:"environment,omitempty"`
	Component   string           `json:"component,omitempty"`
	Message     string           `json:"message"`
	Hint        string           `json:"hint,omitempty"`
	Position    finding.Position `json:"position"`
}

// Platform is what an importer found.
type Platform struct {
	Environments []string
	Components   []*Component
	// Layout of ladder.yaml; empty for the default.
	Layout plan.Layout
	// Bands of ladder.yaml; empty for the default ones.
	Bands []plan.Band
	// Steps of ladder.yaml; empty for one per phase in use.
	Steps []Step
	// Groups are ordered: everything of one comes after everything of those before
	// it. Components name theirs by index.
	Groups []Group
	// Files are written beside the descriptors: values, kustomizations, charts.
	Files []File
	Notes []Note
	// Placed is set where the components have their phases already.
	Placed bool
	// Found counts what was read: "releases", "Kustomizations".
	Found map[string]int
	// StateFiles are those of Helmfile that hold or name what was read, in their order.
	StateFiles []StateFile
}

// Group is what the source applies together: a numbered file, a sync wave.
type Group struct {
	Name     string
	Position finding.Position
}

// Step is one step of ladder.yaml.
type Step struct {
	Phase     model.Phase
	MaxUpdate string
	// Was is what the source calls the step.
	Was string
}

// File is a file to write, with its path relative to the root of the result.
type File struct {
	Path    string
	Content []byte
}

// NoGroup is the group of a component that no group orders.
const NoGroup = -1

// Component is one component in all environments that have it.
type Component struct {
	Name   string
	Domain string
	Type   model.Type
	// Group orders the component, NoGroup for none.
	Group int
	// Phase is its place; NoPhase until it is placed.
	Phase model.Phase
	// PreArgo is applied before Argo CD exists; it is an entry of ladder.yaml.
	PreArgo bool
	In      map[string]*Descriptor
}

// phaseIn is the place in an environment.
func (c *Component) phaseIn(env string) model.Phase {
	if d := c.In[env]; d != nil && d.Phase != nil {
		return *d.Phase
	}
	return c.Phase
}

// Descriptor is a component in one environment.
type Descriptor struct {
	// Phase is the place in the environment where it is not that of the component.
	Phase              *model.Phase
	Project, Namespace string
	Enabled            bool
	// Requires and Validates are names of components of the environment, and
	// capabilities among the former.
	Requires, Validates []string
	Chart               *Chart
	// Kustomize and Manifests are paths relative to the root of the result.
	Kustomize, Manifests string
	Recurse              bool
	SyncOptions          []string
	Labels               map[string]string
	Timeout              time.Duration
	Retry                model.Retry
	IgnoreDifferences    []model.IgnoreDifference
	// Comment is written above the descriptor, one line each.
	Comment  []string
	Position finding.Position
}

// HasSource reports whether there is anything to render.
func (d *Descriptor) HasSource() bool {
	return d.Chart != nil || d.Kustomize != "" || d.Manifests != ""
}

// Chart is the chart of a descriptor.
type Chart struct {
	// Path is that of a chart in the repository; RepoURL, Name and Version name
	// one of a chart repository.
	Path, RepoURL, Name, Version string
	ReleaseName                  string
	SkipCRDs                     bool
	ValueFiles                   []ValueFile
	Values                       map[string]any
	Parameters                   map[string]string
}

// ValueFile is one layer of values.
type ValueFile struct {
	Path     string
	Optional bool
}

// note adds a Note.
func (p *Platform) note(n Note) { p.Notes = append(p.Notes, n) }

// component returns the component of a name, nil where there is none.
func (p *Platform) component(name string) *Component {
	for _, c := range p.Components {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Count is how many notes there are of a level.
func (p *Platform) Count(l Level) int {
	n := 0
	for _, note := range p.Notes {
		if note.Level == l {
			n++
		}
	}
	return n
}

// sortNotes puts notes into their printed order, each once: what is said of
// several environments in the same words is said once.
func (p *Platform) sortNotes() {
	type said struct {
		what, component, message string
		at                       finding.Position
	}
	in := map[said]map[string]bool{}
	key := func(n Note) said { return said{n.What, n.Component, n.Message, n.Position} }
	for _, n := range p.Notes {
		if in[key(n)] == nil {
			in[key(n)] = map[string]bool{}
		}
		in[key(n)][n.Environment] = true
	}
	for i, n := range p.Notes {
		if len(in[key(n)]) > 1 || len(p.Environments) == 1 {
			p.Notes[i].Environment = ""
		}
	}
	slices.SortStableFunc(p.Notes, func(a, b Note) int {
		return cmp.Or(
			cmp.Compare(a.Level.rank(), b.Level.rank()),
			a.Position.Compare(b.Position), strings.Compare(a.What, b.What),
			strings.Compare(a.Component, b.Component), strings.Compare(a.Environment, b.Environment),
			strings.Compare(a.Message, b.Message),
		)
	})
	p.Notes = slices.CompactFunc(p.Notes, func(a, b Note) bool {
		return key(a) == key(b) && a.Environment == b.Environment
	})
}
