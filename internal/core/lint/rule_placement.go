package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

const (
	ruleBundled      = "crds-bundled-with-operator"
	ruleWithOperator = "objects-bundled-with-operator"
	ruleBootstrap    = "bootstrap-before-runtime"
	ruleStore        = "store-before-runtime"
)

// crdsBundled finds CRDs in one component with workloads, in bands that have a
// slot for CRDs.
func crdsBundled(in Input) []finding.Finding {
	crds, workloads := map[string][]*Object{}, map[string]bool{}
	for i := range in.Objects {
		if o := &in.Objects[i]; isCRD(o.Resource) {
			crds[o.Component] = append(crds[o.Component], o)
		}
	}
	if len(crds) == 0 {
		return nil
	}
	for i := range in.Objects {
		if o := &in.Objects[i]; isWorkload(o.Resource) {
			workloads[o.Component] = true
		}
	}
	var out []finding.Finding
	for _, c := range onLadder(in) {
		all := crds[c.Name]
		if _, ok := slotOf(in.Ladder, c); !ok || len(all) == 0 || !workloads[c.Name] {
			continue
		}
		f := finding.Finding{
			Rule: ruleBundled, Severity: finding.Warning, Scope: finding.Rule, Component: c.Name,
			Resource: all[0].Resource, Position: c.Position, Basis: finding.Rendered,
			Message: fmt.Sprintf("%s (%s) brings %s together with the workload that serves them", c.Name, c.Phase, finding.Count(len(all), "CRD")),
			Fix:     finding.Fix{Summary: "make the CRDs a component of the band's x10, and skip them here (chart.skipCrds: true, or the chart's own value)"},
		}
		f.Evidence = append(f.Evidence, where(all[0].Position, "%s", all[0].Resource.Human()))
		out = append(out, f)
	}
	return out
}

func isWorkload(r finding.Resource) bool {
	return r.Group == "apps" && (r.Kind == "Deployment" || r.Kind == "StatefulSet" || r.Kind == "DaemonSet")
}

// objectsBundled finds objects in one component with the operator that reconciles them,
// in the slots of bands that are for operators.
func objectsBundled(in Input) []finding.Finding {
	runs := map[string][]link{}
	for _, l := range newOrder(in).byRule[ruleController] {
		// A class says only who takes objects.
		if l.within && l.consumer != nil && l.Consumer.Object.Kind != "" && !strings.HasSuffix(l.Consumer.Object.Kind, "Class") {
			runs[l.consumer.Name] = append(runs[l.consumer.Name], l)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	var out []finding.Finding
	runtimes := slotsOf(in.Ladder).runtimes
	for _, c := range onLadder(in) {
		_, written := c.Fields["componentType"]
		offset, ok := slotOf(in.Ladder, c)
		all := runs[c.Name]
		if !ok || offset >= runtimes || !written || c.Type != model.Operator || len(all) == 0 {
			continue
		}
		slices.SortFunc(all, func(a, b link) int {
			return cmp.Or(a.Consumer.Position.Compare(b.Consumer.Position), strings.Compare(a.Consumer.Object.String(), b.Consumer.Object.String()))
		})
		all = slices.CompactFunc(all, func(a, b link) bool { return a.Consumer.Object == b.Consumer.Object })
		first := all[0]
		f := finding.Finding{
			Rule: ruleWithOperator, Severity: finding.Info, Scope: finding.Rule, Component: c.Name,
			Resource: first.Consumer.Object, Position: first.Consumer.Position, Basis: finding.Rendered,
			Message: fmt.Sprintf("%s (%s) brings %s together with the operator that reconciles it", c.Name, c.Phase, first.Consumer.Object.Human()),
			Fix:     finding.Fix{Summary: "make it a component of type runtime in the band's x50"},
		}
		if n := len(all) - 1; n > 0 {
			f.Message += fmt.Sprintf("; so %s more", isAre(n))
		}
		f.Evidence = append(f.Evidence, where(first.Provider.Position, "%s", first.Provider.Object.Human()))
		out = append(out, f)
	}
	return out
}

// bootstrapBeforeRuntime finds Jobs and the like that talk to a running system
// and do not come after it.
func bootstrapBeforeRuntime(in Input) []finding.Finding {
	var out []finding.Finding
	o := newOrder(in)
	for _, e := range o.steps {
		bootstrap, runtime := o.ends(e)
		if !bootstraps(bootstrap, runtime) {
			continue
		}
		rank := o.compare(bootstrap, runtime)
		if rank > 0 || rank == 0 && !o.any {
			continue
		}
		f := fromEdge(e.Edge, ruleBootstrap)
		f.Severity = finding.Warning
		f.Message = fmt.Sprintf("%s talks to %s and stands beside it (%s)", e.From, e.To, o.place(runtime))
		if rank < 0 {
			f.Severity = bySeverity(e.Strength)
			f.Message = fmt.Sprintf("%s (%s) talks to %s, which runs only later (%s)", e.From, o.place(bootstrap), e.To, o.place(runtime))
			doubt(&f, bootstrap, runtime)
		}
		f.Evidence = append(f.Evidence, o.placed(bootstrap), o.placed(runtime))
		f.Fix.Order = o.after(bootstrap, runtime)
		f.Fix.Summary = f.Fix.Order + "; post-runtime bootstraps have x55 and x60"
		out = append(out, f)
	}
	return oneEach(out)
}

// bootstraps reports whether one component is a bootstrap and the other a runtime.
func bootstraps(a, b *model.Component) bool {
	return a.Type == model.Bootstrap && b.Type == model.Runtime
}

// storeBeforeRuntime finds secret stores that do not come after the running
// store that they talk to. A store that cannot reach it is not Ready, and the
// step or wave never ends.
func storeBeforeRuntime(in Input) []finding.Finding {
	var out []finding.Finding
	o := newOrder(in)
	if o.flux != nil {
		return nil // service-before-use tells of a store that Flux waits for
	}
	stores := o.stores(in)
	for _, l := range o.byRule[ruleService] {
		if !l.across() || !isSecretStore(l.Consumer.Object) {
			continue
		}
		consumer, runtime := l.standing()
		f := fromDependency(l, finding.Cross)
		if o.judgeStore(&f, consumer, runtime, l.Consumer.Object) {
			if f.Severity == finding.Error {
				o.nothingWaits(&f, l, consumer, runtime)
			}
			o.maybeRuns(in, l.provider, &f)
			out = append(out, f)
		}
	}
	for _, e := range o.steps {
		if e.Basis != finding.Declared {
			continue
		}
		consumer, runtime := o.ends(e)
		if !stores.waits(consumer, runtime) {
			continue
		}
		store := stores.holds[e.From]
		f := fromEdge(e.Edge, ruleStore)
		f.Resource = store.Resource
		f.Evidence = append(f.Evidence, where(store.Position, "%s is in %s", store.Resource.Human(), e.From))
		if o.judgeStore(&f, consumer, runtime, store.Resource) {
			o.maybeRuns(in, runtime, &f)
			out = append(out, f)
		}
	}
	return oneEach(out)
}

// stores says which components hold a secret store, and which bootstraps prepare
// a runtime.
type stores struct {
	holds    map[string]*Object
	prepares map[string]bool
}

func (o *order) stores(in Input) stores {
	s := stores{holds: map[string]*Object{}, prepares: map[string]bool{}}
	for i := range in.Objects {
		object := &in.Objects[i]
		if !isSecretStore(object.Resource) {
			continue
		}
		if first := s.holds[object.Component]; first == nil || object.Resource.String() < first.Resource.String() {
			s.holds[object.Component] = object
		}
	}
	for _, e := range o.steps {
		if bootstraps(o.ends(e)) {
			s.prepares[e.From] = true
		}
	}
	return s
}

// waits reports whether a component holds a secret store and the other one is a
// runtime, or the bootstrap of one.
func (s stores) waits(store, runtime *model.Component) bool {
	_, holds := s.holds[store.Name]
	return holds && (runtime.Type == model.Runtime || runtime.Type == model.Bootstrap && s.prepares[runtime.Name])
}

// judgeStore completes the finding where the order of its two components is wrong.
// Beside each other is wrong on a ladder only, where components of one phase are
// meant to be independent.
func (o *order) judgeStore(f *finding.Finding, consumer, runtime *model.Component, store finding.Resource) (wrong bool) {
	f.Rule = ruleStore
	switch rank := o.compare(consumer, runtime); {
	case rank < 0:
		f.Severity = finding.Error
		f.Message = fmt.Sprintf("%s of %s (%s) talks to %s, which comes later (%s): it is not Ready before",
			store.Human(), consumer.Name, o.place(consumer), runtime.Name, o.place(runtime))
		doubt(f, consumer, runtime)
	case rank == 0 && consumer.Phase >= 0 && runtime.Phase >= 0 && o.any:
		f.Severity = finding.Warning
		f.Message = fmt.Sprintf("%s of %s talks to %s and stands beside it (%s)", store.Human(), consumer.Name, runtime.Name, o.place(runtime))
	default:
		return false
	}
	f.Evidence = append(f.Evidence, o.placed(consumer), o.placed(runtime))
	f.Fix.Order = o.after(consumer, runtime)
	f.Fix.Summary = f.Fix.Order
	return true
}

func isSecretStore(r finding.Resource) bool {
	return r.Group == "external-secrets.io" && (r.Kind == "SecretStore" || r.Kind == "ClusterSecretStore")
}

// oneEach keeps the gravest finding of each pair of components; the first where
// they are equally grave.
func oneEach(all []finding.Finding) []finding.Finding {
	type pair struct{ consumer, provider string }
	seen := map[pair]bool{}
	finding.Sort(all)
	return slices.DeleteFunc(all, func(f finding.Finding) bool {
		key := pair{f.Component, f.Provider}
		again := seen[key]
		seen[key] = true
		return again
	})
}
