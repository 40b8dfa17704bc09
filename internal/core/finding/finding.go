package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file of the repository.
type Position struct {
	// File is a slash-separated path relative to the root of the platform.
	File string `json:"file"`
	// Line counts from 1; 0 means that the line is not known.
	Line int `json:"line"`
}

// String prints "file:line", or the file alone when the line is not known, in one
// line whatever the file is called.
func (p Position) String() string {
	if p.Line == 0 {
		return Plain(p.File)
	}
	return fmt.Sprintf("%s:%d", Plain(p.File), p.Line)
}

// Compare orders positions by file, then line.
func (p Position) Compare(q Position) int {
	return cmp.Or(strings.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line))
}

// Severity says how much a finding matters.
type Severity string

// The severities, from the gravest to the mildest.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Rank orders severities: 0 is the gravest.
func (s Severity) Rank() int {
	switch s {
	case Error:
		return 0
	case Warning:
		return 1
	default:
		return 2
	}
}

// Scope says how far apart the two ends of a finding are.
type Scope string

// The scopes of a finding.
const (
	Cross  Scope = "cross"  // between two components
	Within Scope = "within" // between two objects of one component
	Rule   Scope = "rule"   // a rule about one object, descriptor or file
)

// Basis says what a finding or an edge rests on.
type Basis string

// What evidence can rest on.
const (
	Rendered  Basis = "rendered"  // objects that were rendered from the repository
	Declared  Basis = "declared"  // what a descriptor says
	Catalogue Basis = "catalogue" // embedded knowledge of a chart
)

// Resource names one Kubernetes object.
type Resource struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String prints "group/kind/namespace/name", the form evidence uses.
func (r Resource) String() string {
	return r.Group + "/" + r.Kind + "/" + r.Namespace + "/" + r.Name
}

// Human prints the resource as people write it: "Secret ameide/db" or
// "ClusterIssuer ca".
func (r Resource) Human() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Evidence is one fact that a finding or an inferred edge rests on.
type Evidence struct {
	Text string `json:"text"`
	File string `json:"file"`
	Line int    `json:"line"`
	// Object is "group/kind/namespace/name", empty for a fact about a file.
	Object string `json:"object"`
	// Field is the path of the field, for example "spec.secretName".
	Field string `json:"field"`
}

// Fix is a proposed change.
type Fix struct {
	Summary string `json:"summary"`
	// Patch is a unified diff, empty where the change is not mechanical.
	Patch string `json:"patch"`
	// Order is the change of the order of two components that mends the finding, alone or
	// as one of the ways that Summary has; empty where no such change does.
	Order string `json:"-"`
	// Edits are what Patch is made from, all or none of them; a rule that cannot
	// read files proposes them instead of a patch.
	Edits []Edit `json:"-"`
	// Moves is set where the edits move a component in the order. That is a
	// proposal: what else relies on its place, and shows it nowhere, is not known.
	Moves bool `json:"-"`
	// ByHand says what moves the component where no edit does; it may be nil.
	ByHand *ByHand `json:"-"`
}

// ByHand is a change that people make, and where.
type ByHand struct {
	Position Position
	Text     string
}

// Finding is one problem of the repository.
type Finding struct {
	Rule        string     `json:"rule"`
	Severity    Severity   `json:"severity"`
	Scope       Scope      `json:"scope"`
	Environment string     `json:"environment"`
	Component   string     `json:"component"`
	Provider    string     `json:"provider"`
	Resource    Resource   `json:"resource"`
	Message     string     `json:"message"`
	Position    Position   `json:"position"`
	Evidence    []Evidence `json:"evidence"`
	Basis       Basis      `json:"basis"`
	Fix         Fix        `json:"fix"`
	// Also are further findings that the same change of the order mends, the gravest first.
	Also []Finding `json:"also,omitempty"`
	// Says tells findings of one rule and provider apart that do not say the same, whatever
	// they name; empty where the rule says one thing.
	Says string `json:"-"`
	// Unread names what the finding says was not read, each part once: one finding
	// may tell of many. Coverage counts them.
	Unread []Unread `json:"-"`
}

// WayOut is the fix for people; empty where the message has said it.
func (f Finding) WayOut() string {
	fix := strings.TrimSpace(f.Fix.Summary)
	if strings.HasSuffix(f.Message, fix) {
		return ""
	}
	return fix
}

// Unread is a part of the repository that was not read.
type Unread struct {
	// Name is that of the Application or ApplicationSet; empty where none is known.
	Name     string
	Position Position
	Reason   string
	// Part is set for what counts as no Application: a part of one that was read, or
	// something of another tool.
	Part bool
	// Other is set for a Kustomization or HelmRelease of Flux where Applications are counted.
	Other bool
	// Template is set for what another tool has to fill in before anybody can apply it. It
	// counts as no Application: how many are made of it is not written here.
	Template bool
}

// Sort puts findings into their printed order: severity, position, rule,
// component, message.
func Sort(fs []Finding) {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Severity.Rank(), b.Severity.Rank()),
			a.Position.Compare(b.Position),
			strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Environment, b.Environment),
			strings.Compare(a.Component, b.Component),
			strings.Compare(a.Message, b.Message),
			CompareSubject(a, b),
		)
	})
}

// CompareSubject orders findings that say the same at the same place by what they
// are about, by their evidence, and by what mends them.
func CompareSubject(a, b Finding) int {
	return cmp.Or(
		strings.Compare(a.Component, b.Component),
		strings.Compare(a.Provider, b.Provider),
		strings.Compare(a.Resource.String(), b.Resource.String()),
		slices.CompareFunc(a.Evidence, b.Evidence, func(e, o Evidence) int {
			return cmp.Or(strings.Compare(e.File, o.File), cmp.Compare(e.Line, o.Line), strings.Compare(e.Field, o.Field), strings.Compare(e.Text, o.Text))
		}),
		strings.Compare(a.Fix.Summary, b.Fix.Summary),
	)
}
