package catalogue

import (
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Entry is what one chart, or manifests at some addresses, provide.
//
// Names can hold {release}, {namespace}, {chart} and {fullname}, which is the
// name that Helm's starter chart gives to things: fullnameOverride, else the
// release with the chart's name where the release does not hold it.
type Entry struct {
	// Chart is the name of the chart; for manifests without a chart, a name.
	Chart string `json:"chart"`
	// Repositories are the addresses the chart is published at, OCI ones included.
	Repositories []string `json:"repositories,omitempty"`
	// Common marks a name that other charts have too: only the repository tells.
	Common bool `json:"common,omitempty"`
	// Manifests are patterns of addresses without scheme; "*" stands for any text
	// without a slash and "**" for any text.
	Manifests []string `json:"manifests,omitempty"`
	// Version is the one that the entry was read from.
	Version string `json:"version"`
	// Source lists the files it was read in: "owner/name@commit:path".
	Source []string `json:"source"`

	// Open marks an entry that does not list all kinds that the chart brings.
	Open bool `json:"open,omitempty"`
	// SameGroups marks an entry whose other versions bring kinds of the same groups only.
	SameGroups bool `json:"sameGroups,omitempty"`

	CRDs        []CRDs       `json:"crds,omitempty"`
	Controllers []Controller `json:"controllers,omitempty"`
	Webhooks    []Webhook    `json:"webhooks,omitempty"`
	Objects     []Object     `json:"objects,omitempty"`
	Children    []Child      `json:"children,omitempty"`
	APIGroups   []APIGroup   `json:"apiGroups,omitempty"`
	Requires    []Required   `json:"requires,omitempty"`
	// Notes are for people.
	Notes string `json:"notes,omitempty"`

	// Position is where the user wrote the entry; the zero value for embedded ones.
	Position finding.Position `json:"-"`
}

// CRDs are CRDs that come together: a set, some kinds of it, or a list.
type CRDs struct {
	// Set is the name of a file of CRDs; Kinds chooses among them by
	// "group/Kind" or "group/*", all without it.
	Set   string   `json:"set,omitempty"`
	Kinds []string `json:"kinds,omitempty"`
	List  []CRD    `json:"list,omitempty"`
	// Folder is set for CRDs of a chart's crds/ folder, which a source can skip.
	Folder bool `json:"folder,omitempty"`
	// Runtime is the Deployment that installs them once it runs; empty where they are objects
	// of the chart.
	Runtime string `json:"runtime,omitempty"`
	When    *When  `json:"when,omitempty"`
}

// Set is a file of CRDs that several entries use.
type Set struct {
	Set     string   `json:"set"`
	Version string   `json:"version"`
	Source  []string `json:"source"`
	CRDs    []CRD    `json:"crds"`
}

// Controller is a workload that reconciles kinds.
type Controller struct {
	// Name of the workload, for people.
	Name string `json:"name,omitempty"`
	// Kinds it brings to Ready: "group/Kind" or "group/*".
	Kinds []string `json:"kinds,omitempty"`
	When  *When    `json:"when,omitempty"`
}

// Webhook is an admission or conversion webhook.
type Webhook struct {
	Name string `json:"name,omitempty"`
	// Several is set where the kinds are those of several webhooks, of which Name is the
	// first.
	Several bool `json:"several,omitempty"`
	// Configuration is the name of the first object, by its name, that configures it
	// for all of its kinds.
	Configuration string `json:"configuration,omitempty"`
	// Kinds it is asked about: "group/Kind" or "group/*"; "/Pod" for the core group.
	Kinds []string `json:"kinds"`
	// Policy is Fail or Ignore; empty means Fail. PolicyValue is the path of a
	// value that changes it.
	Policy      string `json:"policy,omitempty"`
	PolicyValue string `json:"policyValue,omitempty"`
	// Runtime is set where the operator registers it and no manifest shows it.
	Runtime bool `json:"runtime,omitempty"`
	// Selective is set where selectors or conditions leave objects out.
	Selective bool  `json:"selective,omitempty"`
	When      *When `json:"when,omitempty"`
}

// Object is something that is made under a certain name.
type Object struct {
	Kind string `json:"kind"`
	// Namespace is that of the component where it is empty.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// NamesValue is the path of a value that lists such objects, each with a name; it
	// stands in place of Name.
	NamesValue string `json:"namesValue,omitempty"`
	// NameValue is the path of a value that changes the name.
	NameValue string `json:"nameValue,omitempty"`
	// Default marks the default StorageClass.
	Default bool `json:"default,omitempty"`
	// WaitForFirstConsumer is the volumeBindingMode of a StorageClass.
	WaitForFirstConsumer bool  `json:"waitForFirstConsumer,omitempty"`
	When                 *When `json:"when,omitempty"`
}

// Child is what an operator makes from each object of a kind. Name can hold
// {name}, {namespace} and {spec.field} of the parent.
type Child struct {
	Of        string `json:"of"` // "group/Kind"
	Makes     string `json:"makes"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	// Unless is a field of the parent that, where set, says there is no child.
	Unless string `json:"unless,omitempty"`
}

// APIGroup is a group of an aggregated API server.
type APIGroup struct {
	Group string `json:"group"`
	When  *When  `json:"when,omitempty"`
}

// Required is a kind of which the chart renders objects, so that its CRD must
// be there.
type Required struct {
	Kind string `json:"kind"` // "group/Kind"
	// Since is the first version of the chart that is known to render them, Before the first
	// that does not any more; of other versions nothing is claimed.
	Since  string `json:"since,omitempty"`
	Before string `json:"before,omitempty"`
	When   *When  `json:"when,omitempty"`
}
