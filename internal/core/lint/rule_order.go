package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// The rules on kinds of things that have to be there before they are used and
// that other rules look at.
const (
	ruleCRD          = "crd-before-use"
	ruleNamespace    = "namespace-before-use"
	ruleWebhook      = "webhook-before-use"
	ruleController   = "controller-before-use"
	ruleService      = "service-before-use"
	ruleClass        = "class-before-use"
	ruleStorageClass = "storageclass-before-use"
	ruleAPIService   = "apiservice-before-use"
)

// use is one kind of thing that has to be there before it is used.
type use struct{ id, summary string }

func beforeUse() []use {
	return []use{
		{ruleCRD, "An object stands before the CRD of its kind"},
		{ruleController, "An object stands before the controller that makes it Ready"},
		{ruleNamespace, "An object stands before its namespace"},
		{"secret-before-use", "An object stands before a Secret that it reads"},
		{"configmap-before-use", "An object stands before a ConfigMap that it reads"},
		{"serviceaccount-before-use", "An object stands before its ServiceAccount or role"},
		{ruleStorageClass, "A volume claim stands before its StorageClass or volume"},
		{"pvc-before-use", "A pod stands before a volume claim that it mounts"},
		{"secretstore-before-use", "An ExternalSecret stands before its secret store"},
		{"issuer-before-use", "A certificate stands before its issuer"},
		{ruleClass, "An object stands before its class"},
		{ruleService, "An object stands before a Service that it calls"},
		{ruleWebhook, "An object stands before a webhook that must admit it"},
		{ruleAPIService, "An object stands before the API server that serves its kind"},
	}
}

// judgeUse judges the order of the dependencies of one rule.
func judgeUse(in Input, rule string) []finding.Finding {
	var out []finding.Finding
	o := newOrder(in)
	var dryRun dryRun
	if rule == ruleCRD && len(o.byRule[rule]) > 0 && o.flux == nil {
		dryRun = newDryRun(in)
	}
	for _, l := range o.byRule[rule] {
		if l.weak || dryRun.fails(l) {
			continue // a dry run that fails is a finding of its own
		}
		var f finding.Finding
		var ok bool
		if l.within {
			if f, ok = o.useWithin(l); ok {
				in.maybeCreated(&f, l.Provider.Position.File)
				// Of one component, a document that names one of its files says which comes first.
				if file := l.Provider.Position.File; file != l.Consumer.Position.File {
					in.maybeFile(&f, file, FileByHand(file))
				}
			}
		} else {
			f, ok = o.useAcross(l)
			ok = ok && o.representatives().has(l) && !o.implied(l, f) && !o.cured(l, f)
		}
		if ok {
			in.maybeThere(&f)
			in.maybeNamed(&f, l.Provider.Position.File)
			in.maybeInstalled(&f, l.provider)
			switch rule {
			case ruleController, ruleService:
				o.maybeRuns(in, l.provider, &f)
			case ruleClass:
				o.maybeNetwork(l.provider, &f)
			}
			out = append(out, f)
		}
	}
	switch rule {
	case ruleNamespace:
		out = append(out, o.movedNamespaces(in)...)
		out = append(out, o.leftToRetries(in, rule)...)
	case ruleCRD:
		out = append(out, o.leftToRetries(in, rule)...)
	}
	return out
}

// used is a kind of object that a component uses, and the component that provides the kind.
type used struct{ consumer, provider, group, kind string }

// refusedKinds are the kinds whose CRDs come later than the objects of a component, with
// the gravity of the finding that says so.
func (o *order) refusedKinds(in Input) map[used]finding.Severity {
	in.order = o
	all := map[used]finding.Severity{}
	if len(o.byRule[ruleCRD]) == 0 || o.flux != nil {
		return all
	}
	dryRun := o.dryRun()
	for _, l := range o.byRule[ruleCRD] {
		if l.weak || l.within || l.Consumer.Object.Kind == "" || dryRun.fails(l) {
			continue
		}
		f, ok := o.useAcross(l)
		if !ok || f.Says == saysUnordered {
			continue
		}
		in.maybeThere(&f)
		all[usedBy(l)] = f.Severity
	}
	return all
}

func usedBy(l link) used {
	object := l.Consumer.Object
	return used{l.Consumer.Component, l.Provider.Component, object.Group, object.Kind}
}

// implied reports whether a finding on the controller or the webhook of a kind says nothing
// that the one on its CRD does not, of the same two components: before the operator is
// there, none of the three is.
func (o *order) implied(l link, f finding.Finding) bool {
	if l.Rule != ruleController && l.Rule != ruleWebhook || f.Says == saysUnordered || l.Consumer.Object.Kind == "" {
		return false
	}
	severity, ok := o.refused()[usedBy(l)]
	return ok && severity.Rank() <= f.Severity.Rank()
}

// cured reports whether a finding on a namespace that nothing orders goes with the error of a
// CRD that comes later: to mend that, the consumer moves behind the CRD and so behind the
// namespace, and there is no other way.
func (o *order) cured(l link, f finding.Finding) bool {
	if l.Rule != ruleNamespace || f.Says != saysUnordered {
		return false
	}
	if consumer, _ := l.standing(); consumer != l.consumer {
		return false
	}
	for u, severity := range o.refused() {
		if u.consumer != l.consumer.Name || severity != finding.Error || o.byName[u.provider] == nil {
			continue
		}
		later, earlier, ok := o.moves(l.consumer, o.byName[u.provider])
		if ok && len(later.breaks) == 0 && len(earlier.breaks) > 0 && o.compare(l.provider, later.at(l.consumer)) < 0 {
			return true
		}
	}
	return false
}

// unknownParent is the folder of a component whose parent is not in the repository.
func unknownParent(c *model.Component) (folder string, unknown bool) {
	if len(c.Parents) == 0 || model.IsRoot(c.Parents[0]) {
		return "", false
	}
	return strings.CutSuffix(c.Parents[0], "/")
}

// What findings between two components say of their order.
const (
	saysLater     = "later"
	saysHeals     = "later, and heals"
	saysUnordered = "unordered"
)

// useAcross judges a dependency between two components.
//
// An Application whose object is refused is tried again, so that nothing is
// wrong where no order is meant at all. Where the environment orders its
// components, the two were forgotten.
func (o *order) useAcross(l link) (f finding.Finding, wrong bool) {
	if o.flux != nil {
		return o.fluxAcross(l)
	}
	if !l.across() {
		return f, false
	}
	consumer, provider := l.standing()
	rank := o.compare(consumer, provider)
	if rank > 0 || onlyCreated(l) && slices.Contains(consumer.Parents, provider.Name) {
		return f, false // Argo CD makes the namespace of a parent before it applies anything
	}
	f = fromDependency(l, finding.Cross)
	switch {
	case rank < 0:
		f.Severity, f.Says = bySeverity(l.Strength), saysLater
		f.Message = fmt.Sprintf("%s (%s) %s, but %s comes later (%s)",
			whose(l.Consumer), o.place(consumer), l.Reason, provider.Name, o.place(provider))
		if (f.Severity == finding.Error || idle(l)) && o.heals(l, consumer) {
			o.nothingWaits(&f, l, consumer, provider)
		}
		doubt(&f, consumer, provider)
	case o.forgotten(l, consumer, provider):
		f.Severity, f.Says = finding.Warning, saysUnordered
		f.Message = fmt.Sprintf("%s %s, which %s provides, and nothing orders the two (%s, %s)",
			whose(l.Consumer), l.Reason, provider.Name, o.place(consumer), o.place(provider))
	case rank == 0 && o.besides()[l.Dependency]:
		f.Severity, f.Says = finding.Warning, saysUnordered
		f.Message = fmt.Sprintf("%s %s, which %s provides, an Application that %s applies in the same wave: the first sync is likely to fail", who(l.Consumer), l.Reason, l.provider.Name, l.consumer.Name)
		if o.retries(l.consumer) {
			f.Message += ", and to be retried"
		}
	default:
		return f, false
	}
	if folder, unknown := unknownParent(consumer); unknown && onlyCreated(l) {
		f.Severity = finding.Info
		f.Message += fmt.Sprintf("; what applies %s is not in the repository, and may make the namespace", folder)
	}
	f.Evidence = append(f.Evidence, o.placedEnd(l.Consumer, consumer, provider), o.placedEnd(l.Provider, provider, consumer))
	switch {
	case ofParent(l.Consumer, consumer, provider):
		f.Fix.Summary = fmt.Sprintf("give %s a later sync wave than %s", who(l.Consumer), provider.Name)
		if l.Consumer.Place.Hook < 1 {
			f.Fix.Summary = fmt.Sprintf("take the hook of %s away, and give it a later sync wave than %s", who(l.Consumer), provider.Name)
		}
	case ofParent(l.Provider, provider, consumer):
		f.Fix.Summary = fmt.Sprintf("give %s an earlier sync wave than %s", who(l.Provider), consumer.Name)
	default:
		f.Fix.Summary = o.after(consumer, provider)
	}
	f.Fix.Order = f.Fix.Summary
	if onlyCreated(l) && l.consumer.Namespace == l.Required.Name {
		f.Fix.Summary = fmt.Sprintf("give %s the sync option CreateNamespace=true as well, or %s", consumer.Name, f.Fix.Summary)
	}
	return f, true
}

// nothingWaits makes a finding on a consumer that comes too early milder where what stands later
// follows all the same: nothing waits for the Application, or for the object.
func (o *order) nothingWaits(f *finding.Finding, l link, consumer, provider *model.Component) {
	what := consumer.Name
	switch {
	case o.holdsUp(l, consumer, provider):
		return
	case o.passes(consumer, provider):
	case idle(l) && o.assessed().unassessed(l.Consumer):
		what = l.Consumer.Object.Human()
	default:
		return
	}
	f.Severity, f.Says = finding.Warning, saysHeals
	f.Message += "; nothing waits for " + what
	switch {
	case o.refusedBefore(l):
		f.Message += fmt.Sprintf(", but %s is refused before %s is there", provider.Name, consumer.Name)
	case idle(l) && o.needsLaterOf(l):
		f.Message += fmt.Sprintf(", but %s needs what %s applies later", provider.Name, consumer.Name)
	case idle(l):
		f.Severity = finding.Info
		f.Message += fmt.Sprintf(", so that it heals once %s is there", provider.Name)
	default:
		f.Message += fmt.Sprintf(", so that it is likely to heal once %s is there", provider.Name)
	}
}

// needsLaterOf reports whether the provider of a link needs an object of the consumer's component
// that comes behind the consumer: the sync of that waits for the consumer first.
func (o *order) needsLaterOf(l link) bool {
	last, needed := o.lastNeeded()[[2]*model.Component{l.provider, l.consumer}]
	return needed && l.Consumer.Place.Compare(last) < 0 && o.assessed().waits(l)
}

// idle reports whether nothing but waiting comes of a consumer that is too early: it is applied,
// and nothing happens until the provider is there.
func idle(l link) bool {
	return l.Effect == dependency.Ready && (l.Rule == ruleController || l.Rule == ruleDeadlock)
}

// holdsUp reports whether an object of a parent keeps the sync of the parent from what it
// applies later: it is refused, or not Healthy. Whether Applications are assessed is
// no matter then.
func (o *order) holdsUp(l link, consumer, provider *model.Component) bool {
	i := len(consumer.Parents) - 1
	if i < 0 || consumer.Parents[i] != l.consumer.Name || i >= len(provider.Parents) || provider.Parents[i] != l.consumer.Name {
		return false
	}
	return l.Effect == dependency.Apply || o.assessed().waits(l)
}

// refusedBefore reports whether the provider of a link has objects that are refused before
// its consumer is there.
func (o *order) refusedBefore(l link) bool {
	return o.refusals()[[2]*model.Component{l.provider, l.consumer}]
}

// has reports whether a component has a place at all. One of a ladder without a
// phase has none, which is a finding of its own.
func (o *order) has(c *model.Component) bool {
	return c.PreArgo || c.Phase >= 0 || len(c.Waves) > 0 || c.Set != "" || o.ladder.Layout == plan.AppOfApps
}

// forgotten reports whether nothing orders a dependency that needs an order, in an
// environment that has one: the consumer would be refused.
func (o *order) forgotten(l link, consumer, provider *model.Component) bool {
	if o.flux != nil {
		return o.flux.forgotten(l, consumer, provider, o.byRule[l.Rule])
	}
	return o.any && l.Strength == plan.Hard && l.Effect == dependency.Apply && !nested(consumer, provider) &&
		o.has(consumer) && o.has(provider) && o.together(consumer, provider) && o.compare(consumer, provider) == 0 && !o.chosen(consumer, provider)
}

// chosen reports whether somebody syncs both of the Applications by hand at which the
// paths of two components part: in which order is the choice of who does it.
func (o *order) chosen(consumer, provider *model.Component) bool {
	a, b := apart(consumer, provider)
	return o.byHand[a] && o.byHand[b]
}

// together reports whether one and the same root applies two components. What
// people apply one by one they order as they like.
func (o *order) together(a, b *model.Component) bool {
	if a.Set != "" && a.Set == b.Set || len(a.Parents) == 0 && len(b.Parents) == 0 {
		return true
	}
	if set := o.made[top(a)]; set != "" && set == o.made[top(b)] {
		return true // beside a parent that the set makes as well
	}
	if len(a.Parents) == 0 || len(b.Parents) == 0 || a.Parents[0] != b.Parents[0] {
		return false
	}
	// What a set that is applied by hand generates has no root, and may be a parent itself.
	return a.Parents[0] != "" && !model.IsRoot(a.Parents[0]) || len(a.Parents) > 1 && len(b.Parents) > 1 && !nameless(a.Parents[1]) && a.Parents[1] == b.Parents[1]
}

// top is the parent of a component that no other applies, or the component itself.
func top(c *model.Component) string {
	if len(c.Parents) > 0 {
		return c.Parents[0]
	}
	return c.Name
}

// representatives has the dependency that speaks for all between two components that
// nothing orders: that order is one thing to mend, whatever it is good for.
type representatives map[[2]*model.Component]link

func (o *order) findRepresentatives() representatives {
	s := representatives{}
	if !o.any {
		return s
	}
	for _, l := range o.links {
		if !l.refuses || l.weak || !l.across() {
			continue
		}
		if consumer, provider := l.standing(); !o.forgotten(l, consumer, provider) {
			continue
		}
		key := [2]*model.Component{l.consumer, l.provider}
		if have, ok := s[key]; !ok || comesBefore(l, have) {
			s[key] = l
		}
	}
	return s
}

// comesBefore prefers what is refused by the API server itself to what a webhook
// refuses, then the first by name.
func comesBefore(l, m link) bool {
	return cmp.Or(
		cmp.Compare(boolRank(l.Rule == ruleWebhook), boolRank(m.Rule == ruleWebhook)),
		strings.Compare(l.Rule, m.Rule),
		strings.Compare(l.Required.String(), m.Required.String()),
	) < 0
}

func boolRank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// has reports whether a dependency may make a finding: where the two are
// ordered every one may.
func (s representatives) has(l link) bool {
	have, ok := s[[2]*model.Component{l.consumer, l.provider}]
	return !ok || have.Rule == l.Rule && have.Required == l.Required
}

// nested reports whether one component is a parent of the other, whose own
// objects are applied in the sync that applies the Application of the other.
func nested(a, b *model.Component) bool {
	if len(a.Parents) == 0 && len(b.Parents) == 0 {
		return a.AppOfApps != b.AppOfApps
	}
	return slices.Contains(a.Parents, b.Name) || slices.Contains(b.Parents, a.Name)
}

// useWithin judges a dependency between two objects of one component. What is
// applied and becomes Ready later is judged by the rule gate-deadlock.
func (o *order) useWithin(l link) (f finding.Finding, wrong bool) {
	if o.flux != nil {
		return o.fluxWithin(l)
	}
	consumer := l.consumer
	rank := l.Consumer.Place.Compare(l.Provider.Place)
	if consumer == nil || l.Effect != dependency.Apply || rank > 0 {
		return f, false
	}
	f = fromDependency(l, finding.Within)
	switch {
	case rank < 0:
		f.Severity = bySeverity(l.Strength)
		f.Message = fmt.Sprintf("%s (%s) %s, which is applied later (%s)",
			who(l.Consumer), when(l.Consumer.Place), l.Reason, when(l.Provider.Place))
		f.Fix.Summary = fmt.Sprintf("give %s an earlier sync wave than %s", who(l.Provider), who(l.Consumer))
	case rank == 0 && l.Strength == plan.Hard && failsInOnePass(l):
		f.Severity = finding.Warning
		f.Message = fmt.Sprintf("%s %s and is applied in the same pass (%s): the first sync is likely to fail",
			who(l.Consumer), l.Reason, when(l.Consumer.Place))
		if o.retries(consumer) {
			f.Message += ", and to be retried"
		} else if _, application := o.automated[consumer.Name]; l.Rule == ruleWebhook && (application || !o.foreign) {
			f.Severity = finding.Error // the pods behind it are not up in the time of a pass
		}
		provider := who(l.Provider)
		if l.Provider.Object.Kind == "" {
			provider = "the rest of " + provider
		}
		f.Fix.Summary = fmt.Sprintf("give %s a later sync wave than %s", who(l.Consumer), provider)
	default:
		return f, false
	}
	return f, true
}

// failsInOnePass reports whether applying both objects in one wave fails: the
// order of kinds inside a wave does not help where the consumer needs something
// that runs (a webhook's pods) or that a controller makes (a CRD that is no
// object of the sync). Source: Argo CD, "Sync Phases and Waves"; a wave applies
// its objects in the order of their kinds without waiting in between.
func failsInOnePass(l link) bool {
	switch l.Rule {
	case ruleWebhook:
		return true
	case ruleCRD:
		return !isCRD(l.Provider.Object)
	default:
		return l.Provider.Object.Kind != "" && l.Provider.Place.Kind > l.Consumer.Place.Kind
	}
}

func isCRD(r finding.Resource) bool {
	return r.Group == "apiextensions.k8s.io" && r.Kind == "CustomResourceDefinition"
}
