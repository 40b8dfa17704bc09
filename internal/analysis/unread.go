package analysis

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// unreadApplications tells of the Applications and sets among the objects of a component, which
// is rendered whole, that reading did not come upon: what they apply is in no component. So
// are those that an object holds for another cluster, as a ManifestWork does.
func (r *Result) unreadApplications(c model.Component, objects []manifest.Object) []finding.Finding {
	var out []finding.Finding
	note := func(kind, name, reason string, at finding.Position) {
		out = append(out, finding.Finding{
			Rule: argocd.RuleNotRead, Severity: finding.Info, Scope: finding.Rule, Component: c.Name, Position: at, Basis: finding.Rendered,
			Message: fmt.Sprintf("the %s %s is not read: %s", kind, name, reason),
			Unread:  []finding.Unread{{Name: name, Position: at, Reason: reason}},
		})
	}
	for _, o := range objects {
		at := o.Origin.Position()
		for _, v := range held(o) {
			held, _ := v.(map[string]any)
			kind, name := text(held, "kind"), text(held, "metadata", "name")
			if strings.HasPrefix(text(held, "apiVersion"), "argoproj.io/") && (kind == "Application" || kind == "ApplicationSet") {
				note(kind, name, fmt.Sprintf("it is within %s, which has another cluster apply it", o.Resource().Human()), at)
			}
		}
		if isArgo(o) && o.GetKind() != "AppProject" && !r.isRead(o.GetKind(), o.GetName()) {
			note(o.GetKind(), o.GetName(), "it is among the objects of "+c.Name+", which was not taken for a parent", at)
		}
	}
	return out
}

// held are the manifests that a ManifestWork holds. Source: Open Cluster Management, ManifestWork.
func held(o manifest.Object) []any {
	if o.GetKind() != "ManifestWork" || o.GroupVersionKind().Group != "work.open-cluster-management.io" {
		return nil
	}
	all, _, _ := unstructured.NestedSlice(o.Object, "spec", "workload", "manifests")
	return all
}

func text(o map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(o, path...)
	return s
}

func (r *Result) isRead(kind, name string) bool {
	if kind == "ApplicationSet" {
		return slices.ContainsFunc(r.Argo.ApplicationSets, func(s argo.ApplicationSet) bool { return s.Name == name })
	}
	return slices.ContainsFunc(r.Argo.Applications, func(a argo.Application) bool { return a.Name == name })
}
