package session

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// broughtBy says of an object that did not come up what it needs of components that were
// not rendered, as the catalogue knows their charts: what it lacks is not there for that
// reason. It is empty where nothing of that kind is known. Of one component the first thing
// is told that is missing: what the API server refuses an object for comes before what makes
// it ready.
func broughtBy(all []dependency.Dependency, consumer string, object finding.Resource, lacking map[string]bool) string {
	var b strings.Builder
	told := map[string]bool{}
	for _, effect := range []dependency.Effect{dependency.Apply, dependency.Ready} {
		for _, d := range all {
			provider := d.Provider.Component
			if d.Effect != effect || told[provider] || !lacking[provider] || d.Consumer.Component != consumer || d.Within() ||
				d.Strength != plan.Hard || d.Basis != finding.Catalogue || len(d.Evidence) == 0 || !concerns(d, object) {
				continue
			}
			told[provider] = true
			b.WriteString("; it " + d.Reason + ", " + finding.Plain(finding.Redact(d.Evidence[len(d.Evidence)-1].Text)) + ", which was not rendered")
		}
	}
	return b.String()
}

// concerns reports whether a dependency is one of an object of its consumer: it may speak for
// several, and for all that are of the kind of a CRD. The namespace may be that of the
// rollout.
func concerns(d dependency.Dependency, object finding.Resource) bool {
	return slices.ContainsFunc(slices.Concat([]dependency.End{d.Consumer}, d.Unready), func(e dependency.End) bool {
		same := e.Object.Group == object.Group && e.Object.Kind == object.Kind
		return same && (e.Object.Name == object.Name || d.Required.Kind == "CustomResourceDefinition")
	})
}
