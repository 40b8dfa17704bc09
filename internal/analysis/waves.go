package analysis

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// ruleWave is the rule of sync waves that are no text, or no number.
const ruleWave = "wave-not-a-string"

// wrongWaves finds the objects of a component whose sync wave is a number: a
// chart that writes {{ .Values.wave }} without quote, or a manifest. The API
// server refuses the whole object. A text that is no number is taken for 0.
// Applications are judged where they are read.
func (r *Result) wrongWaves(c model.Component, objects []manifest.Object) []finding.Finding {
	var out []finding.Finding
	for _, o := range objects {
		if isArgo(o) || r.isPassedOver(o) {
			continue
		}
		wave := waveOf(o)
		text, isText := wave.(string)
		if _, err := strconv.Atoi(text); wave == nil || isText && (err == nil || text == "" || strings.ContainsAny(text, "{$<")) {
			continue // null is no annotation, and a variable is filled in later
		}
		resource, at := o.Resource(), o.Origin.Position()
		const field = "metadata.annotations[" + manifest.WaveAnnotation + "]"
		if r.lines != nil {
			at = r.lines.Field(at, field)
		}
		f := finding.Finding{
			Rule: ruleWave, Severity: finding.Error, Scope: finding.Rule, Component: c.Name, Resource: resource,
			Message:  fmt.Sprintf("the sync wave %v of %s is not text; the API server refuses the object", wave, resource.Human()),
			Position: at, Basis: finding.Rendered,
			Fix: finding.Fix{Summary: fmt.Sprintf("quote it: %q, or {{ ... | quote }} in a template", fmt.Sprint(wave))},
		}
		seen := fmt.Sprintf("%s renders with the sync wave %v, without quotes", resource.Human(), wave)
		if isText {
			f.Message = fmt.Sprintf("the sync wave %q of %s is not a number; Argo CD takes it for 0", text, resource.Human())
			f.Fix.Summary = "write a whole number in quotes, without blanks"
			seen = fmt.Sprintf("%s renders with the sync wave %q", resource.Human(), text)
		}
		f.Evidence = []finding.Evidence{{Text: seen, File: at.File, Line: at.Line, Object: resource.String(), Field: field}}
		out = append(out, f)
	}
	return out
}

// waveOf is the sync wave of an object as it is written; nil where there is none.
func waveOf(o manifest.Object) any {
	metadata, _ := o.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations[manifest.WaveAnnotation]
}

// isNumberedWave reports whether the sync wave of an object is written, and no text.
func isNumberedWave(o manifest.Object) bool {
	wave := waveOf(o)
	_, isText := wave.(string)
	return wave != nil && !isText
}
