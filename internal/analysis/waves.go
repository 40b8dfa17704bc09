package analysis

import (
	"fmt"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// ruleWave is the rule of sync waves that are no text.
const ruleWave = "wave-not-a-string"

// numberWaves finds the objects of a component whose sync wave is a number: a
// chart that writes {{ .Values.wave }} without quote, or a manifest. The API
// server refuses the whole object. Applications are judged where they are read.
func (r *Result) numberWaves(c model.Component, objects []manifest.Object) []finding.Finding {
	var out []finding.Finding
	for _, o := range objects {
		if isArgo(o) {
			continue
		}
		metadata, _ := o.Object["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		wave, written := annotations[manifest.WaveAnnotation]
		if !written || wave == nil {
			continue // null is no annotation
		}
		if _, text := wave.(string); text {
			continue
		}
		resource, at := o.Resource(), o.Origin.Position()
		const field = "metadata.annotations[" + manifest.WaveAnnotation + "]"
		if r.lines != nil {
			at = r.lines.Field(at, field)
		}
		out = append(out, finding.Finding{
			Rule: ruleWave, Severity: finding.Error, Scope: finding.Rule, Component: c.Name, Resource: resource,
			Message:  fmt.Sprintf("the sync wave %v of %s is not text; the API server refuses the object", wave, resource.Human()),
			Position: at, Basis: finding.Rendered,
			Evidence: []finding.Evidence{{
				Text: fmt.Sprintf("%s renders with the sync wave %v, without quotes", resource.Human(), wave),
				File: at.File, Line: at.Line, Object: resource.String(), Field: field,
			}},
			Fix: finding.Fix{Summary: fmt.Sprintf("quote it: %q, or {{ ... | quote }} in a template", fmt.Sprint(wave))},
		})
	}
	return out
}
