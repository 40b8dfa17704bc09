package lint

import (
	"cmp"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const ruleLongName = "name-too-long"

// maxLabel is how many characters a label holds. Source: Kubernetes, "Labels and Selectors".
const maxLabel = 63

// nameTooLong finds Applications whose names do not fit into the label in which Argo CD is
// told to mark what they apply: the API server refuses all of it. Only the method "label"
// has the name whole. Source: argo-cd, util/argo/resource_tracking.go, SetAppInstance.
func nameTooLong(in Input) []finding.Finding {
	data, _ := in.Argo.Settings.Data()
	method := data[argo.TrackingMethodKey]
	if method.Text != "label" {
		return nil
	}
	label := cmp.Or(data[argo.InstanceLabelKey].Text, argo.InstanceLabel)
	var out []finding.Finding
	for _, app := range in.Argo.Applications {
		if len(app.Name) <= maxLabel {
			continue
		}
		f := aboutApplication(app, ruleLongName, finding.Error,
			"the name %s has %d characters, and the label %s, in which Argo CD marks with it what it applies, holds %d: the API server refuses every object of it",
			app.Name, len(app.Name), label, maxLabel)
		f.Evidence = append(f.Evidence, where(method.Position, "these settings of Argo CD track by label"))
		f.Fix.Summary = "shorten the name, or set " + argo.TrackingMethodKey + " to annotation or annotation+label"
		out = append(out, f)
	}
	return out
}
