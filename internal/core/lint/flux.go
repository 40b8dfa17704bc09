package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// fluxOrder knows the order of a cluster of Flux.
type fluxOrder struct {
	*fluxcd.Order

	units []fluxcd.Unit
}

func newFluxOrder(setup *fluxcd.Setup) *fluxOrder {
	if setup == nil {
		return nil
	}
	return &fluxOrder{setup.Ordered(), setup.Units}
}

// pair are the units of two components.
func (f *fluxOrder) pair(a, b *model.Component) (i, j int, ok bool) {
	i, first := f.Unit(a.Name)
	j, second := f.Unit(b.Name)
	return i, j, first && second
}

// forgotten reports whether nothing orders a dependency that needs an order: the
// consumer would be refused.
func (f *fluxOrder) forgotten(l link, consumer, provider *model.Component, rule []link) bool {
	i, j, ok := f.pair(consumer, provider)
	return ok && l.Strength == plan.Hard && l.Effect == dependency.Apply && !f.StartsBefore(i, j) && !f.StartsBefore(j, i) &&
		!f.waitsForNobody(i) && !f.awaitsKind(l, i) && !slices.ContainsFunc(rule, func(m link) bool { return f.proves(m, l, i) })
}

// waitsForNobody reports whether a unit depends on one that nothing which was read defines: it never
// starts, or what defines the other orders it.
func (f *fluxOrder) waitsForNobody(i int) bool {
	return slices.ContainsFunc(f.units[i].DependsOn, func(r fluxcd.Reference) bool { return r.Unit < 0 })
}

// awaitsKind reports whether a unit that is Ready before another starts waits for the kind that this one
// needs, by a health check of its CRD.
func (f *fluxOrder) awaitsKind(l link, i int) bool {
	if l.Rule != ruleCRD {
		return false
	}
	for k := range f.units {
		u := &f.units[k]
		of := func(crd string) bool { return isCRDOf(crd, l.Required.Name) }
		if !u.Wait && u.Elsewhere == f.units[i].Elsewhere && slices.ContainsFunc(u.CRDs, of) && f.ReadyBefore(k, i) {
			return true
		}
	}
	return false
}

// isCRDOf reports whether a CRD is the one that is required: by its name, or by its kind as in
// Schedule.k8up.io, of which the CRD has the plural.
func isCRDOf(crd, required string) bool {
	plural, group, _ := strings.Cut(crd, ".")
	kind, of, _ := strings.Cut(strings.ToLower(required), ".")
	return group == of && slices.Contains(dependency.ResourceNames(kind), plural)
}

// proves reports whether the unit that starts at i finds what it needs because another,
// which is Ready before, or a Kustomization that applies it, was refused without it: of that nothing
// but definitions and classes is applied while anything is refused. The kinds of one provider come at once, but
// for those that Helm installs before the templates.
func (f *fluxOrder) proves(m, l link, i int) bool {
	if m.provider != l.provider || m.weak || !m.refuses || !m.across() || l.Rule != ruleCRD && m.Required != l.Required || beforeTemplates(m) && inTemplates(l) {
		return false
	}
	before, known := f.Unit(m.consumer.Name)
	return known && (f.ReadyBefore(before, i) || f.units[before].Kind == fluxcd.Kustomization && f.Applies(before, i))
}

// inTemplates reports whether what provides is in a template of a chart, beforeTemplates
// whether it is in its folder crds. Source: Helm, "Custom Resource Definitions".
func inTemplates(l link) bool { return strings.Contains(l.Provider.Position.File, "/templates/") }

func beforeTemplates(l link) bool {
	return strings.Contains(l.Provider.Position.File, "/crds/") && !inTemplates(l)
}

// fluxAcross judges a dependency between two components that Flux applies. What is
// refused is tried again, for ever by a Kustomization; so an order that is only
// missing costs time, and one that is wrong never ends.
func (o *order) fluxAcross(l link) (f finding.Finding, wrong bool) {
	if !l.across() {
		return f, false
	}
	i, j, ok := o.flux.pair(l.consumer, l.provider)
	if !ok {
		return f, false
	}
	if u := &o.flux.units[i]; l.Rule == ruleNamespace && u.Kind == fluxcd.HelmRelease && u.Namespace == l.Required.Name {
		return f, false // there is no such release before its own namespace
	}
	f = fromDependency(l, finding.Cross)
	switch {
	case o.flux.StartsBefore(i, j) && o.flux.StartsBefore(j, i): // a circle, which is told as that
	case o.flux.StartsBefore(i, j):
		f, wrong = o.fluxReversed(l, f, i, j)
	case o.flux.StartsBefore(j, i):
		f, wrong = o.fluxTooEarly(l, f, i, j)
	case o.flux.forgotten(l, l.consumer, l.provider, o.byRule[l.Rule]):
		f, wrong = o.fluxForgotten(l, f, i, j), true
	}
	others := slices.DeleteFunc(slices.Clone(l.Refused), func(e dependency.End) bool { return e == l.Consumer })
	if wrong && len(others) > 0 {
		f.Evidence = append(f.Evidence, furtherEnds(others))
	}
	if before := o.flux.units[j].Before; wrong && before.File != "" {
		f.Severity = finding.Info
		f.Message += fmt.Sprintf("; %s installs %s before Flux runs, so that it may be there", before.File, l.provider.Name)
		f.Evidence = append(f.Evidence, where(before, "installs %s", l.provider.Name))
	} else if before := o.flux.units[i].Before; wrong && before.File != "" {
		f.Severity = finding.Info
		f.Message += fmt.Sprintf("; %s installs %s before Flux runs, so that it is needed there already", before.File, l.consumer.Name)
		f.Evidence = append(f.Evidence, where(before, "installs %s", l.consumer.Name))
	}
	return f, wrong
}

// fluxReversed judges a consumer that is applied before its provider starts.
func (o *order) fluxReversed(l link, f finding.Finding, i, j int) (finding.Finding, bool) {
	consumer, provider := &o.flux.units[i], &o.flux.units[j]
	f.Severity = bySeverity(l.Strength)
	switch {
	case l.Strength != plan.Hard || consumer.Supposed && o.flux.Applies(i, j):
		return f, false
	case l.Effect == dependency.Apply && l.Rule != ruleWebhook && o.flux.Applies(i, j):
		beside, how := o.flux.beside(i, j), "applies that itself"
		if beside != provider {
			how = fmt.Sprintf("applies %s, which brings that", beside)
		}
		f.Message = fmt.Sprintf("%s %s, which %s provides, and %s %s: the dry run of %s fails, so that nothing in its folder is applied but %s, not even %s",
			whose(l.Consumer), l.Reason, l.provider.Name, consumer, how, l.consumer.Name, appliedFirst, beside)
		f.Fix.Summary = o.flux.apart(consumers(l), i, j)
		if onlyCreated(l) {
			f.Fix.Summary = fmt.Sprintf("add %s to what %s applies", l.Required.Human(), consumer)
		}
	case (l.Effect == dependency.Apply && l.Rule != ruleWebhook || l.Consumer.Object.Kind == string(fluxcd.HelmRelease)) && o.flux.ReadyBefore(i, j):
		f.Message = fmt.Sprintf("%s %s, which %s provides, but that waits until %s is Ready: neither ever is",
			whose(l.Consumer), l.Reason, l.provider.Name, consumer)
		f.Fix.Order = fmt.Sprintf("turn the dependency round: %s has to be Ready first", provider)
		f.Fix.Summary = f.Fix.Order
	case l.Effect == dependency.Ready && o.flux.ReadyBefore(i, j) && consumer.Wait && o.kstatus(l):
		f.Message = fmt.Sprintf("%s %s, which %s provides, but that waits until %s is Ready, which waits for its own objects: neither ever is",
			whose(l.Consumer), l.Reason, l.provider.Name, consumer)
		f.Fix.Summary = fmt.Sprintf("turn the dependency round, or move %s to a unit that depends on %s", who(l.Consumer), provider)
	default:
		return f, false
	}
	if !o.flux.Applies(i, j) {
		f.Evidence = append(f.Evidence, where(provider.Position, "%s comes after %s", provider, consumer))
		return f, true
	}
	for k := j; k != i; k = o.flux.units[k].Parent {
		at := &o.flux.units[k]
		f.Evidence = append(f.Evidence, where(at.Position, "%s applies %s", &o.flux.units[at.Parent], at))
	}
	return f, true
}

// appliedFirst is what Flux applies of a Kustomization before the dry run of all else. Source:
// github.com/fluxcd/pkg/ssa, ApplyAllStaged, IsClusterDefinition and IsClassDefinition.
const appliedFirst = "CRDs, Namespaces, ClusterRoles and classes"

// beside is what a unit applies itself on the way to one that it applies, which may be that one.
func (f *fluxOrder) beside(unit, applied int) *fluxcd.Unit {
	for f.units[applied].Parent != unit {
		applied = f.units[applied].Parent
	}
	return &f.units[applied]
}

// consumers names the consumer of a link, with how many others are refused for the same kind.
func consumers(l link) string {
	if more := len(l.Refused) - 1; more > 0 {
		return fmt.Sprintf("%s and %d more of the kind", who(l.Consumer), more)
	}
	return who(l.Consumer)
}

// kstatus reports whether Flux waits for the consumer until it has what it needs: a
// workload, or a custom resource with a condition. Source: kustomize-controller waits
// by kstatus, for which an Ingress is Ready at once.
func (o *order) kstatus(l link) bool {
	health := o.assessed()[dependency.End{Component: l.Consumer.Component, Object: l.Consumer.Object}]
	return health == "workload" || health != "" && isCustom(l.Consumer.Object.Group)
}

// fluxTooEarly judges a consumer that starts after its provider, where that is Ready
// before the pods are up that must admit the consumer.
func (o *order) fluxTooEarly(l link, f finding.Finding, i, j int) (finding.Finding, bool) {
	consumer, provider := &o.flux.units[i], &o.flux.units[j]
	if l.Rule != ruleWebhook || l.Strength != plan.Hard || provider.Gates() || !o.flux.ReadyBefore(j, i) || o.flux.Applies(j, i) {
		return f, false
	}
	f.Severity = finding.Warning
	f.Message = fmt.Sprintf("%s %s, and %s is Ready as soon as it is applied, before the pods of the webhook are: %s",
		whose(l.Consumer), l.Reason, provider, again(l.Rule, consumer))
	f.Fix.Summary = "set wait: true on " + provider.String()
	return f, true
}

// fluxForgotten tells of a dependency that nothing orders.
func (o *order) fluxForgotten(l link, f finding.Finding, i, j int) finding.Finding {
	consumer, provider := &o.flux.units[i], &o.flux.units[j]
	f.Severity = finding.Warning
	if l.Rule == ruleWebhook && consumer.Retries {
		f.Severity = finding.Info // whether the webhook is there first is luck, and it heals
	}
	f.Message = fmt.Sprintf("%s %s, which %s provides, and no dependsOn orders the two: %s", whose(l.Consumer), l.Reason, l.provider.Name, again(l.Rule, consumer))
	k := o.flux.unawaited(i, j)
	if k >= 0 && o.flux.ReadyBefore(k, j) { // what the provider waits for cannot wait for the provider
		f.Fix.Summary = fmt.Sprintf("move %s to a Kustomization of its own with wait: true, and name that in dependsOn of %s", provider, &o.flux.units[o.flux.outer(i)])
		return f
	}
	if k >= 0 {
		through := &o.flux.units[k]
		f.Message = fmt.Sprintf("%s %s, which %s provides; %s depends on %s, which is Ready without waiting for that: %s",
			whose(l.Consumer), l.Reason, l.provider.Name, l.consumer.Name, through, again(l.Rule, consumer))
		f.Fix.Summary = "set wait: true on " + through.String()
		if o.needs().later[k] {
			f.Fix.Summary = fmt.Sprintf("name %s in healthChecks of %s, not wait: true: it holds what becomes Ready only after it", provider, through)
		}
		if provider.Unawaited {
			f.Fix.Summary = fmt.Sprintf("set spec.wait: true on the ResourceSet that makes %s, and wait: true on %s", provider, through)
		}
		f.Evidence = append(f.Evidence, where(through.Position, "%s has neither wait nor a health check of %s", through, provider))
		return f
	}
	if o.needs().refused[[2]int{o.flux.outer(j), o.flux.outer(i)}] { // neither can come first as a whole
		f.Fix.Summary = o.flux.apart(consumers(l), i, j)
		return f
	}
	f.Fix.Order = o.flux.mend(i, j)
	f.Fix.Summary = f.Fix.Order
	return f
}

// fluxNeeds is what the Kustomizations of Flux need of each other, with all that they apply.
type fluxNeeds struct {
	// refused has the pairs of which the first is refused something without the second.
	refused map[[2]int]bool
	// later are those that need something of what comes once they are Ready: they would never be, if they
	// waited for all of their objects.
	later map[int]bool
}

func (o *order) findFluxNeeds() fluxNeeds {
	needs := fluxNeeds{map[[2]int]bool{}, map[int]bool{}}
	for i := range o.flux.units {
		needs.later[i] = o.flux.holdsDependant(i)
	}
	for _, l := range o.links {
		i, j, ok := o.flux.pair(l.consumer, l.provider)
		if l.weak || !l.across() || !ok {
			continue
		}
		i, j = o.flux.outer(i), o.flux.outer(j)
		if l.refuses && i != j {
			needs.refused[[2]int{i, j}] = true
		}
		if l.Strength == plan.Hard && !needs.later[i] && o.flux.ReadyBefore(i, j) {
			needs.later[i] = true
		}
	}
	return needs
}

// outer is the Kustomization that applies a HelmRelease, and a unit without one itself.
func (f *fluxOrder) outer(unit int) int {
	if f.units[unit].Kind == fluxcd.HelmRelease && f.units[unit].Parent >= 0 {
		return f.units[unit].Parent
	}
	return unit
}

// again says when a unit that is refused is tried again. An install counts as failed, and is not,
// only once Helm has stored a release, which it does after it has asked for all kinds.
// Source: helm-controller, internal/reconcile, Install.
func again(rule string, u *fluxcd.Unit) string {
	switch {
	case u.Kind == fluxcd.HelmRelease && u.RetryInterval > 0:
		return "the install fails, and is tried again after " + finding.Duration(u.RetryInterval)
	case u.Kind == fluxcd.HelmRelease && rule == ruleCRD:
		return "the install fails, and is tried again, each time later"
	case !u.Retries:
		return "the install fails, and is not tried again (install.remediation.retries)"
	case u.Kind == fluxcd.HelmRelease:
		return "the install fails, and is tried again"
	case u.RetryInterval > 0:
		return "what is refused is tried again after " + finding.Duration(u.RetryInterval)
	default:
		return "what is refused is tried again"
	}
}

// unawaited finds the Kustomization that applies the provider, that the consumer
// depends on and that does not wait for the provider; -1 for none.
func (f *fluxOrder) unawaited(consumer, provider int) int {
	for seen, k := 0, f.units[provider].Parent; k >= 0 && seen < len(f.units); seen, k = seen+1, f.units[k].Parent {
		if f.ReadyBefore(k, consumer) && !f.Applies(k, consumer) {
			return k
		}
	}
	return -1
}

// mend says which dependsOn is missing.
func (f *fluxOrder) mend(consumer, provider int) string {
	c, p := &f.units[consumer], &f.units[provider]
	if c.Kind == p.Kind && !f.Applies(consumer, provider) {
		return fmt.Sprintf("add dependsOn: [{name: %s%s}] to %s", p.Name, namespaceWhere(p, c), c)
	}
	// A Kustomization and a HelmRelease cannot depend on each other: the Kustomizations
	// around them can.
	i, j := f.outer(consumer), f.outer(provider)
	c, p = &f.units[i], &f.units[j]
	if i == j {
		return fmt.Sprintf("move %s to a Kustomization of its own, and add dependsOn", f.units[consumer].Name)
	}
	if f.Applies(i, j) {
		// What applies the provider cannot wait for it.
		what := f.units[consumer].String()
		if consumer == i {
			what = "what needs it in " + what
		}
		return fmt.Sprintf("move %s to a Kustomization of its own, with dependsOn: [{name: %s}]", what, p.Name) + f.awaited(p, j)
	}
	if f.Applies(j, i) {
		// What waits for all that it applies would wait for the consumer.
		return fmt.Sprintf("move %s to a Kustomization of its own with wait: true, and name that in dependsOn of %s", &f.units[provider], c)
	}
	return fmt.Sprintf("add dependsOn: [{name: %s%s}] to %s", p.Name, namespaceWhere(p, c), c) + f.awaited(p, j)
}

// apart says how an object gets behind what a unit applies beside it: it moves to a Kustomization
// that comes after. One that the unit applies itself cannot wait until the unit is Ready
// with all that it applies.
func (f *fluxOrder) apart(object string, unit, provider int) string {
	u, p, at := &f.units[unit], &f.units[provider], provider
	if p.Kind == fluxcd.HelmRelease && p.Parent >= 0 && p.Parent != unit {
		at = p.Parent
		p = &f.units[at]
	}
	switch {
	case p.Kind == fluxcd.Kustomization && provider != unit:
		return fmt.Sprintf("move %s to a Kustomization of its own, with dependsOn: [{name: %s}]%s", object, p.Name, f.awaited(p, at))
	case u.Parent >= 0:
		return fmt.Sprintf("move %s to a Kustomization of its own, with dependsOn: [{name: %s}]%s", object, u.Name, f.awaited(u, unit))
	case provider != unit:
		return fmt.Sprintf("move %s to a Kustomization of its own with wait: true, and %s to another that depends on it", p, object)
	default:
		return fmt.Sprintf("move what it needs to a Kustomization of its own with wait: true, and %s to another that depends on it", object)
	}
}

// holdsDependant reports whether a unit applies one that depends on it: it would wait for that, which
// waits for it.
func (f *fluxOrder) holdsDependant(i int) bool {
	for j := range f.units {
		if f.Applies(i, j) && f.ReadyBefore(i, j) {
			return true
		}
	}
	return false
}

// awaited is what makes a unit wait for what it applies, as the end of a sentence; empty
// where it does.
func (f *fluxOrder) awaited(u *fluxcd.Unit, i int) string {
	switch {
	case u.Wait:
		return ""
	case f.holdsDependant(i):
		return ", and name what it needs in healthChecks of " + u.String() + ", not wait: true: it applies what depends on it"
	}
	return ", and set wait: true on " + u.String()
}

func namespaceWhere(p, c *fluxcd.Unit) string {
	if p.Namespace == c.Namespace {
		return ""
	}
	return ", namespace: " + p.Namespace
}

// fluxWithin judges a dependency between two objects of one Kustomization. Definitions and
// classes are applied first, and waited for; of all others there is a dry run before any is
// applied: see appliedFirst.
func (o *order) fluxWithin(l link) (f finding.Finding, wrong bool) {
	i, ok := o.flux.Unit(l.Consumer.Component)
	if ok && l.Consumer.Object.Group == "kustomize.toolkit.fluxcd.io" && l.Rule != ruleNamespace {
		if o.flux.units[i].Elsewhere {
			return f, false // Flux reads it here, and the Kustomization applies to another cluster
		}
		f = fromDependency(l, finding.Within)
		f.Severity = finding.Error
		f.Message = fmt.Sprintf("%s %s, which it applies itself: it fails before it applies anything, and so on each try", who(l.Consumer), l.Reason)
		f.Fix.Summary = fmt.Sprintf("move %s to a Kustomization of its own, and add dependsOn", who(l.Provider))
		return f, true
	}
	if !ok || l.consumer == nil || l.Rule != ruleCRD || l.Strength != plan.Hard || isCRD(l.Provider.Object) || l.Provider.Object.Kind == "" {
		return f, false
	}
	u := &o.flux.units[i]
	if u.Kind != fluxcd.Kustomization || u.Supposed {
		return f, false
	}
	f = fromDependency(l, finding.Within)
	f.Severity = finding.Error
	f.Message = fmt.Sprintf("%s %s, which %s brings only once it is applied, in the same Kustomization: the dry run fails, so that nothing in its folder is applied but %s",
		who(l.Consumer), l.Reason, who(l.Provider), appliedFirst)
	f.Fix.Summary = o.flux.apart(who(l.Consumer), i, i)
	return f, true
}
