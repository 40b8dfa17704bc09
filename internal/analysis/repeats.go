package analysis

import (
	"fmt"
	"reflect"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// repeats finds the objects that one source of an Application writes twice, and not the same
// way. Argo CD applies one of them, and warns (RepeatedResourceWarning). Of several
// sources the last one wins by design.
func (r *Result) repeats(c model.Component, objects []manifest.Object) []finding.Finding {
	if r.Platform.Flux != nil || c.PreArgo || len(c.Sources) != 1 {
		return nil
	}
	var out []finding.Finding
	last := make(map[finding.Resource]manifest.Object, len(objects))
	for _, o := range objects {
		if r.isPassedOver(o) {
			continue
		}
		resource := o.Resource()
		before, again := last[resource]
		last[resource] = o
		if !again || resource.Name == "" || reflect.DeepEqual(before.Object, o.Object) {
			continue
		}
		first, second := before.Origin.Position(), o.Origin.Position()
		out = append(out, finding.Finding{
			Rule: "duplicate-resource", Severity: finding.Warning, Scope: finding.Rule, Component: c.Name, Resource: resource,
			Message: fmt.Sprintf("%s is twice in %s, and not the same: Argo CD applies one of them, and warns (RepeatedResourceWarning)",
				resource.Human(), c.Name),
			Position: second, Basis: finding.Rendered,
			Evidence: []finding.Evidence{
				{Text: resource.Human() + ", too", File: first.File, Line: first.Line, Object: resource.String()},
			},
			Fix: finding.Fix{Summary: "give one of them another name, or take it away"},
		})
	}
	return out
}
