package settings

import (
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Input is what the settings are made from.
type Input struct {
	// Namespace is where Argo CD runs.
	Namespace string
	// ProgressiveSyncs is set where an ApplicationSet uses RollingSync.
	ProgressiveSyncs bool
	// Nested is set where the sync waves of one Application order others, which
	// may hold ApplicationSets.
	Nested bool
	// Components in any order.
	Components []Component
	Exclusions []Exclusion
	// Labels are put on every object, beside those that Argo CD looks for.
	Labels map[string]string
}

// Component is what the settings know of one component.
type Component struct {
	Name string
	// Waited is set where something waits for the component to be Healthy.
	Waited  bool
	Objects []manifest.Object
	// Health are the readiness checks of its descriptor.
	Health []model.HealthCheck
}

// Exclusion names kinds that Argo CD neither watches nor manages. Source: Argo CD
// operator manual, "Resource Exclusion/Inclusion".
type Exclusion struct {
	APIGroups []string `json:"apiGroups,omitempty"`
	Kinds     []string `json:"kinds,omitempty"`
	Clusters  []string `json:"clusters,omitempty"`
}

// ConfigMap is a ConfigMap of Argo CD's.
type ConfigMap struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   Metadata          `json:"metadata"`
	Data       map[string]string `json:"data,omitempty"`
}

// Metadata is the part of an object's metadata that is generated.
type Metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Result is what Build makes.
type Result struct {
	// Settings is argocd-cm, Parameters argocd-cmd-params-cm.
	Settings, Parameters ConfigMap
	// Notes are in the order of the kinds.
	Notes []Note
}

// Note is about a kind whose health Argo CD does not see as Ladder does.
type Note struct {
	Group, Kind string
	// Components render the kind, sorted.
	Components []string
	// Lost is set where Argo CD takes objects of the kind for Healthy although
	// they may not be: what waits for them does not wait long enough.
	Lost    bool
	Message string
	// Position is that of the check the note is about.
	Position finding.Position
}
