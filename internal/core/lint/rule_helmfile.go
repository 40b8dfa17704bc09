package lint

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

const ruleHelmfile = "installed-by-helmfile"

// Release is what a Helmfile installs. Chart is the name of the chart alone.
type Release struct {
	Name, Namespace, Chart string
	Position               finding.Position
}

// installedByHelmfile finds releases of Helmfiles that are components too: the same
// chart in the same namespace under the same name. Helm gives its objects the names of
// those that Argo CD applies.
func installedByHelmfile(in Input) []finding.Finding {
	if in.Helmfile == nil {
		return nil
	}
	owners := map[Release]*model.Component{}
	for i := range in.Components {
		c := &in.Components[i]
		if !c.Enabled || c.PreArgo {
			continue
		}
		for _, s := range c.Sources {
			if s.Kind == model.Chart {
				chart := cmp.Or(s.Name, s.Path)
				chart = chart[strings.LastIndexByte(chart, '/')+1:]
				owners[Release{Name: cmp.Or(s.ReleaseName, c.Name), Namespace: cmp.Or(s.Namespace, c.Namespace), Chart: chart}] = c
			}
		}
	}
	if len(owners) == 0 {
		return nil
	}
	var out []finding.Finding
	for _, r := range in.Helmfile() {
		at := r.Position
		r.Position = finding.Position{}
		c := owners[r]
		if c == nil {
			continue
		}
		out = append(out, finding.Finding{
			Rule: ruleHelmfile, Severity: finding.Info, Scope: finding.Cross, Basis: finding.Declared, Component: c.Name, Position: at,
			Message:  fmt.Sprintf("the release %s installs the chart %s into %s, as the component %s does: whoever applies the Helmfile overwrites what Argo CD has applied", r.Name, r.Chart, r.Namespace, c.Name),
			Evidence: []finding.Evidence{where(c.Position, "%s", c.Name)},
			Fix:      finding.Fix{Summary: "remove the release when the component is Healthy; suppress this where the Helmfile is only rendered, and never applied"},
		})
	}
	return out
}
