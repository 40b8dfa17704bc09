package rehearse

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// FaultError says that a component cannot fail as it was asked to.
type FaultError struct {
	Component, Fault string
	// Unrendered is set where nothing is known of what it applies.
	Unrendered bool
	// Others can fail so.
	Others []string
}

// Error implements error.
func (e *FaultError) Error() string {
	why := "it applies nothing that has pods, and no custom resource"
	if e.Unrendered {
		why = "it could not be rendered, so it stands in as an empty one"
	}
	others := "no other component can either"
	if len(e.Others) > 0 {
		others = "those that can: " + strings.Join(e.Others, ", ")
	}
	return fmt.Sprintf("--fail %s=%s: %s cannot fail so, since %s; %s", e.Component, e.Fault, e.Component, why, others)
}

// checkFaults refuses faults that would do nothing.
func checkFaults(loaded *analysis.Result, o Options) error {
	var able []string
	for _, c := range session.Enabled(loaded) {
		// Argo CD runs the checks of smokes as Jobs.
		if slices.ContainsFunc(loaded.Objects[c.Name], canFail) || o.Engine == EngineArgoCD && len(c.Smoke) > 0 {
			able = append(able, c.Name)
		}
	}
	for _, c := range session.Enabled(loaded) {
		fault, asked := o.Faults[c.Name]
		if !asked || slices.Contains(able, c.Name) {
			continue
		}
		return &FaultError{
			Component: c.Name, Fault: fault.String(), Others: able,
			Unrendered: slices.ContainsFunc(session.Unrendered(loaded), func(u report.Unrendered) bool { return u.Component == c.Name }),
		}
	}
	return nil
}

// canFail reports whether the simulated world can make an object fail: it has pods, or is
// of a kind that an operator makes ready. Of the kinds of Kubernetes itself that is an
// Ingress.
func canFail(o manifest.Object) bool {
	kind := o.GroupVersionKind()
	switch kind.GroupKind().String() {
	case "Pod", "Ingress.networking.k8s.io":
		return true
	case "CustomResourceDefinition.apiextensions.k8s.io", "APIService.apiregistration.k8s.io":
		return false // of servers that are not in the scheme
	}
	if !scheme.Scheme.IsGroupRegistered(kind.Group) {
		return true
	}
	spec, _ := o.Object["spec"].(map[string]any)
	_, jobs := spec["jobTemplate"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	_, pods := template["spec"].(map[string]any)
	return jobs || pods
}
