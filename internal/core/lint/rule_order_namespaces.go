package lint

import (
	"fmt"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// movedNamespaces finds Namespaces that are written into a later wave than what
// lands in them. Argo CD moves such a Namespace to the first of these objects, so
// nothing breaks; but the wave says something else. Source: gitops-engine,
// pkg/sync, syncTasks.adjustDeps.
func (o *order) movedNamespaces(in Input) []finding.Finding {
	var out []finding.Finding
	for i := range in.Objects {
		object := &in.Objects[i]
		r := object.Resource
		if r.Kind != "Namespace" || r.Group != "" || object.Wave <= object.Place.Wave || o.byName[object.Component] == nil {
			continue
		}
		f := finding.Finding{
			Rule: ruleNamespace, Severity: finding.Info, Scope: finding.Within, Component: object.Component, Provider: object.Component,
			Resource: r, Position: object.Position, Basis: finding.Rendered,
			Message: fmt.Sprintf("%s is written into wave %d, behind objects of wave %d that land in it; Argo CD moves it before them",
				r.Human(), object.Wave, object.Place.Wave),
			Fix: finding.Fix{Summary: fmt.Sprintf("write the wave that counts: one before %d", object.Place.Wave)},
		}
		if object.Place.Hook < 1 {
			// A wave of its own never comes before hooks.
			f.Message = fmt.Sprintf("PreSync hooks land in %s, which is no hook itself; Argo CD moves it before them", r.Human())
			f.Fix.Summary = ""
		}
		out = append(out, f)
	}
	for _, l := range o.byRule[ruleNamespace] {
		if l.consumer == nil || !movesNamespace(l) {
			continue
		}
		f := fromDependency(l, finding.Within)
		f.Severity, f.Position = finding.Info, l.Provider.Position
		f.Message = fmt.Sprintf("%s is written into wave %d, behind objects of a chart that land in it (%s); Argo CD moves it before them",
			who(l.Provider), l.Provider.Place.Wave, when(l.Consumer.Place))
		f.Fix.Summary = fmt.Sprintf("write the wave that counts: one before %d", l.Consumer.Place.Wave)
		out = append(out, f)
	}
	return out
}

// onlyCreated reports whether a namespace is made by a sync option, as any other
// Application may do as well, and is no object of its provider.
func onlyCreated(l link) bool {
	return l.Rule == ruleNamespace && l.Provider.Object.Kind == ""
}

// movesNamespace reports whether a chart that is not rendered lands in a Namespace
// that its own Application writes into a later wave.
func movesNamespace(l link) bool {
	return l.Rule == ruleNamespace && l.within && l.Consumer.Object.Kind == "" && l.Provider.Object.Kind == "Namespace" &&
		l.Consumer.Place.Compare(l.Provider.Place) < 0
}
