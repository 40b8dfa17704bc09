package argo

import (
	"encoding/json"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// The keys of argocd-cm that say how Argo CD marks what an Application applies. Source:
// Argo CD, "Resource Tracking".
const (
	TrackingMethodKey = "application.resourceTrackingMethod"
	InstanceLabelKey  = "application.instanceLabelKey"
	InstallationIDKey = "installationID"

	// ExclusionsKey lists the kinds that Argo CD does not see.
	ExclusionsKey = "resource.exclusions"

	// InstanceLabel is the label of InstanceLabelKey where that is not set.
	InstanceLabel = "app.kubernetes.io/instance"
)

// Written is a setting of argocd-cm as one place of the repository has it, whatever its
// form: a ConfigMap, a patch, values of the chart, a field of the ArgoCD resource.
type Written struct {
	Key, Text string
	// Open is set where something that is not known fills the text in.
	Open     bool
	Position finding.Position
}

// Data are the settings of argocd-cm by their keys, with the exclusions that Argo CD comes
// with where they are known to hold. Contested are those of which places
// say different things, or something that is not known, by the order of their keys: which
// an installation has is not told, and Data has none of them.
func (s Settings) Data() (data map[string]Written, contested [][]Written) {
	data = map[string]Written{}
	for i := 0; i < len(s.Written); {
		end, same := i+1, !s.Written[i].Open
		for ; end < len(s.Written) && s.Written[end].Key == s.Written[i].Key; end++ {
			same = same && s.Written[end].Text == s.Written[i].Text
		}
		if same {
			data[s.Written[i].Key] = s.Written[i]
		} else {
			contested = append(contested, s.Written[i:end])
		}
		i = end
	}
	for _, place := range s.Exclusions {
		if place.Default {
			data[ExclusionsKey] = Written{Key: ExclusionsKey, Text: place.text(), Position: place.Position}
		}
	}
	return data, contested
}

// text is what the filters are in argocd-cm.
func (f Filters) text() string {
	type entry struct {
		Groups   []string `json:"apiGroups"`
		Kinds    []string `json:"kinds"`
		Clusters []string `json:"clusters,omitempty"`
	}
	entries := make([]entry, len(f.Filters))
	for i, filter := range f.Filters {
		entries[i] = entry(filter)
	}
	text, err := json.Marshal(entries) // JSON is YAML
	if err != nil {
		return ""
	}
	return string(text)
}
