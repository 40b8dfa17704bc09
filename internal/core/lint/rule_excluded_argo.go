package lint

import (
	"cmp"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// excludedOfArgo finds Applications and ApplicationSets that a parent would apply, and that the
// settings hide from its sync: nothing of them is ever there. One speaks for all of its kind. What
// the ApplicationSet controller makes is not filtered.
func excludedOfArgo(in Input) []finding.Finding {
	parents := map[string]*model.Component{}
	for _, app := range in.Argo.Applications {
		parents[app.Name] = &model.Component{Cluster: clusterOf(app.Destination)}
	}
	var out []finding.Finding
	told := map[string]int{}
	hide := func(parent string, r finding.Resource, f finding.Finding) {
		by, hidden := argo.Filters{}, false
		if c := parents[parent]; c != nil {
			by, hidden = hides(in.Argo.Settings, r, c)
		}
		if !hidden {
			return
		}
		if i, again := told[r.Kind]; again {
			if len(out[i].Evidence) < 1+named {
				out[i].Evidence = append(out[i].Evidence, where(f.Position, "%s is one", r.Human()))
			}
			return
		}
		told[r.Kind] = len(out)
		f.Message = fmt.Sprintf("the Application %s does not apply %s, and so nothing of what that has: the settings of Argo CD hide the kind %s", parent, r.Human(), r.Kind)
		f.Evidence = append(f.Evidence, where(by.Position, "these settings leave the kind out"))
		f.Fix.Summary = fmt.Sprintf("take %s out of the exclusions, or into the inclusions, of argocd-cm", r.Kind)
		out = append(out, f)
	}
	for _, app := range in.Argo.Applications {
		if app.Set == "" {
			f := aboutApplication(app, ruleExcluded, finding.Warning, "")
			hide(app.Parent, f.Resource, f)
		}
	}
	for _, set := range in.Argo.ApplicationSets {
		f := aboutSet(set, ruleExcluded, set.Position, "")
		hide(set.Parent, f.Resource, f)
	}
	return out
}

// clusterOf is the cluster of a destination, as components have it.
func clusterOf(d argo.Destination) string {
	if d.Server == inClusterServer {
		return model.InCluster
	}
	return cmp.Or(d.Name, d.Server)
}
