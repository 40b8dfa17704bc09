package analysis

import (
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// unreadApplications tells of the Applications and sets among the objects of a component, which
// is rendered whole, that reading did not come upon: what they apply is in no component.
func (r *Result) unreadApplications(c model.Component, objects []manifest.Object) []finding.Finding {
	var out []finding.Finding
	for _, o := range objects {
		if !isArgo(o) || o.GetKind() == "AppProject" || r.isRead(o.GetKind(), o.GetName()) {
			continue
		}
		at := o.Origin.Position()
		what := fmt.Sprintf("the %s %s", o.GetKind(), o.GetName())
		reason := "it is among the objects of " + c.Name + ", which was not taken for a parent"
		out = append(out, finding.Finding{
			Rule: argocd.RuleNotRead, Severity: finding.Info, Scope: finding.Rule, Component: c.Name, Position: at, Basis: finding.Rendered,
			Message: what + " is not read: " + reason,
			Unread:  []finding.Unread{{Name: o.GetName(), Position: at, Reason: reason}},
		})
	}
	return out
}

func (r *Result) isRead(kind, name string) bool {
	if kind == "ApplicationSet" {
		return slices.ContainsFunc(r.Argo.ApplicationSets, func(s argo.ApplicationSet) bool { return s.Name == name })
	}
	return slices.ContainsFunc(r.Argo.Applications, func(a argo.Application) bool { return a.Name == name })
}
