package orphans

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// FormatVersion is the version of the documents of this package.
const FormatVersion = "1"

// Report is what was found.
type Report struct {
	FormatVersion string `json:"formatVersion"`
	Environment   string `json:"environment"`
	Cluster       string `json:"cluster"`
	// Complete is set where everything could be read and rendered: without orphans
	// it means that there are none.
	Complete bool `json:"complete"`
	// Namespaces were looked at, LeftOut are those of the ladder that were not.
	Namespaces []string `json:"namespaces"`
	LeftOut    []string `json:"leftOut"`
	Orphans    []Orphan `json:"orphans"`
	// Untied are cluster-wide objects of kinds that the ladder renders, that
	// nothing ties to it.
	Untied []finding.Resource `json:"untied"`
	// Rendered, Children and Ignored count what is no orphan: what a component
	// renders, children of other objects, and the rest by reason.
	Rendered int            `json:"rendered"`
	Children int            `json:"children"`
	Ignored  map[string]int `json:"ignored"`
	// Unreadable is what the cluster would not tell.
	Unreadable []Unreadable `json:"unreadable"`
	// Unrendered are the components that could not be rendered whole: what they
	// hold is not known.
	Unrendered []string `json:"unrendered"`
}

// Unreadable is a kind that could not be listed.
type Unreadable struct {
	Kind string `json:"kind"`
	// Namespace is empty where the kind could not be listed anywhere.
	Namespace string `json:"namespace"`
	Reason    string `json:"reason"`
}

// Action is what is proposed for an orphan.
type Action string

// The actions.
const (
	Delete Action = "delete"
	Adopt  Action = "adopt"
	Look   Action = "look"
)

// Orphan is one object.
type Orphan struct {
	Resource finding.Resource `json:"resource"`
	Version  string           `json:"version"`
	UID      string           `json:"uid"`
	Origin   Origin           `json:"origin"`
	Action   Action           `json:"action"`
	// Component is the one that applied it, or that could adopt it; empty for none.
	Component string `json:"component"`
	Reason    string `json:"reason"`
	// Data is set where deleting it deletes more than itself, or what cannot be
	// made anew.
	Data bool `json:"data"`
	// Holds is set for a Namespace or CRD of which components render objects: it is
	// never deleted.
	Holds bool `json:"holds"`
	// Command is how it is taken away where deleting it is not the way.
	Command string `json:"command"`

	// place is that of its component in the order; -1 for none.
	place int
	kind  kind
}

// Origin says who made an object.
type Origin struct {
	// Kind is ladder, argocd, flux, helm, kubectl, tool or unknown.
	Kind string `json:"kind"`
	// Name is the component, Application, Kustomization or release; Namespace that
	// of the release.
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// State is, for a release, deployed, gone or "" for unknown.
	State string `json:"state"`
	// Managers are the field managers, sorted.
	Managers []string `json:"managers"`
}

// The kinds of origin.
const (
	ByLadder  = "ladder"
	ByArgoCD  = "argocd"
	ByFlux    = "flux"
	ByHelm    = "helm"
	ByKubectl = "kubectl"
	ByTool    = "tool"
	Unknown   = "unknown"
)

// String prints the origin for people.
func (o Origin) String() string {
	switch o.Kind {
	case ByLadder:
		return "component " + o.Name
	case ByArgoCD:
		return "Application " + o.Name
	case ByFlux:
		return "Flux " + o.Name
	case ByHelm:
		text := "Helm release " + o.Name
		if o.Name == "" {
			return "Helm"
		}
		if o.State == releaseGone {
			text += ", which is gone"
		}
		return text
	case ByKubectl:
		return "kubectl"
	}
	if len(o.Managers) == 0 {
		return "nobody known"
	}
	return strings.Join(o.Managers, ", ")
}
