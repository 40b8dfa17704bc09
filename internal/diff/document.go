package diff

import (
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// Document is what a comparison writes as JSON.
type Document struct {
	FormatVersion string       `json:"formatVersion"`
	Differs       bool         `json:"differs"`
	Comparisons   []Comparison `json:"comparisons"`
}

// NewDocument joins the comparisons of several environments.
func NewDocument(all []Comparison) Document {
	d := Document{FormatVersion: report.FormatVersion, Comparisons: list(all)}
	for _, c := range all {
		d.Differs = d.Differs || c.Differs
	}
	return d
}

// Comparison is what differs between two states of a platform.
type Comparison struct {
	From       Source          `json:"from"`
	To         Source          `json:"to"`
	Policy     string          `json:"policy"`
	Differs    bool            `json:"differs"`
	Components ComponentChange `json:"components"`
	Steps      StepChange      `json:"steps"`
	// Order are the components whose place relative to others changed.
	Order   []Reordered  `json:"order"`
	Edges   EdgeChange   `json:"edges"`
	Objects ObjectChange `json:"objects"`
	// Cycles and Unplaced are what one plan has and the other has not.
	Cycles      ListChange[[]string] `json:"cycles"`
	Unplaced    ListChange[string]   `json:"unplaced"`
	Time        TimeChange           `json:"time"`
	BlastRadius []RadiusChange       `json:"blastRadius"`
	// NotCompared are the components whose objects are not compared, since
	// something of them could not be rendered on one side.
	NotCompared []string `json:"notCompared"`
}

// Source is one side of a comparison.
type Source struct {
	// Name is as it was asked for; Revision the hash of a commit, empty for the
	// work tree.
	Name        string `json:"name"`
	Revision    string `json:"revision"`
	Environment string `json:"environment"`
	// Missing is set where this side has no such environment.
	Missing    bool                `json:"missing"`
	Components int                 `json:"components"`
	Edges      int                 `json:"edges"`
	Objects    int                 `json:"objects"`
	Unrendered []report.Unrendered `json:"unrendered"`
}

// ListChange is what only one of two lists has.
type ListChange[T any] struct {
	Added   []T `json:"added"`
	Removed []T `json:"removed"`
}

// ComponentChange is what differs between the components.
type ComponentChange struct {
	Added   []Component `json:"added"`
	Removed []Component `json:"removed"`
	// Renamed pairs those of Removed with those of Added that are the same under
	// another name.
	Renamed []Renamed  `json:"renamed"`
	Moved   []Moved    `json:"moved"`
	Changed []Reworked `json:"changed"`
}

// Component names a component and where it stands.
type Component struct {
	Name      string `json:"name"`
	Place     Place  `json:"place"`
	Type      string `json:"componentType"`
	Domain    string `json:"domain"`
	Namespace string `json:"namespace"`
	Enabled   bool   `json:"enabled"`
	File      string `json:"file"`
}

// Place is where a component stands in the order.
type Place struct {
	// Order is its phase or path of sync waves, Step the label of its step.
	Order string `json:"order"`
	Step  string `json:"step"`
	// Set is the ApplicationSet that generates it, Parents what applies it, from
	// the root; "" among them is by hand.
	Set     string   `json:"set"`
	Parents []string `json:"parents"`
}

// Renamed is a component that got another name.
type Renamed struct {
	From string `json:"from"`
	To   string `json:"to"`
	// By is what the two have in common: file or objects.
	By string `json:"by"`
}

// Moved is a component that stands elsewhere.
type Moved struct {
	Name string `json:"name"`
	From Place  `json:"from"`
	To   Place  `json:"to"`
}

// Reworked is a component whose descriptor or Application says something else.
type Reworked struct {
	Name   string  `json:"name"`
	File   string  `json:"file"`
	Fields []Field `json:"fields"`
}

// Field is one value that differs.
type Field struct {
	// Path is dotted; an item of a list is named by what tells it apart:
	// spec.containers[name=web].image.
	Path string `json:"path"`
	// Op is added, removed or changed.
	Op string `json:"op"`
	// From and To are the values on one line, shortened; [redacted] where they may
	// be secret. What is not there is "".
	From string `json:"from"`
	To   string `json:"to"`
}

// The values of Field.Op.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// StepChange is what differs between the steps, by label.
type StepChange struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []Step   `json:"changed"`
}

// Step is a step that both sides have.
type Step struct {
	Label  string  `json:"label"`
	Fields []Field `json:"fields"`
}

// Reordered is a component that others overtook, or that overtook others.
type Reordered struct {
	Component string     `json:"component"`
	Relations []Relation `json:"relations"`
}

// Relation is where a component stands relative to another: before, with, after.
type Relation struct {
	Other string `json:"other"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// EdgeChange is what differs between the edges.
type EdgeChange struct {
	Added   []Edge         `json:"added"`
	Removed []Edge         `json:"removed"`
	Changed []EdgeReworked `json:"changed"`
}

// Edge says that From requires To, for all the reasons there are.
type Edge struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Strength string `json:"strength"`
	// Against is set where the order contradicts it.
	Against  bool               `json:"against"`
	Reasons  []string           `json:"reasons"`
	Evidence []finding.Evidence `json:"evidence"`
	// Uncertain is set where an end of it could not be rendered on the side that
	// lacks it: it may be there as well.
	Uncertain bool `json:"uncertain"`
}

// EdgeReworked is an edge that both sides have, for other reasons or of another
// strength.
type EdgeReworked struct {
	From   string   `json:"from"`
	To     string   `json:"to"`
	Before EdgeView `json:"before"`
	After  EdgeView `json:"after"`
}

// EdgeView is an edge on one side.
type EdgeView struct {
	Strength string   `json:"strength"`
	Against  bool     `json:"against"`
	Reasons  []string `json:"reasons"`
}

// ObjectChange is what differs between the objects.
type ObjectChange struct {
	Added   []Object         `json:"added"`
	Removed []Object         `json:"removed"`
	Changed []ObjectReworked `json:"changed"`
}

// Object is one rendered object.
type Object struct {
	Component string           `json:"component"`
	Resource  finding.Resource `json:"resource"`
	Position  finding.Position `json:"position"`
}

// ObjectReworked is an object that both sides have.
type ObjectReworked struct {
	Resource finding.Resource `json:"resource"`
	// From and To are the components that render it, and where.
	From   Origin  `json:"from"`
	To     Origin  `json:"to"`
	Fields []Field `json:"fields"`
}

// Origin is what an object comes from.
type Origin struct {
	Component string           `json:"component"`
	Position  finding.Position `json:"position"`
}

// TimeChange is what differs in the expected course, in seconds.
type TimeChange struct {
	Makespan     Seconds       `json:"makespan"`
	Bound        Seconds       `json:"bound"`
	CriticalPath CriticalPaths `json:"criticalPath"`
}

// Seconds is a time on both sides.
type Seconds struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Delta float64 `json:"delta"`
}

// CriticalPaths are the longest chains of both sides.
type CriticalPaths struct {
	From  report.PlanPath `json:"from"`
	To    report.PlanPath `json:"to"`
	Delta float64         `json:"delta"`
}

// RadiusChange is a component whose failure stops other components than before.
type RadiusChange struct {
	Component string   `json:"component"`
	From      int      `json:"from"`
	To        int      `json:"to"`
	Added     []string `json:"added"`
	Removed   []string `json:"removed"`
}

// list makes a nil slice print as [] in JSON.
func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}
