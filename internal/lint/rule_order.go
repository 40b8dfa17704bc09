package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/dependency"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// The rules on kinds of things that have to be there before they are used and
// that other rules look at.
const (
	ruleCRD          = "crd-before-use"
	ruleNamespace    = "namespace-before-use"
	ruleWebhook      = "webhook-before-use"
	ruleService      = "service-before-use"
	ruleClass        = "class-before-use"
	ruleStorageClass = "storageclass-before-use"
)

// use is one kind of thing that has to be there before it is used.
type use struct{ id, summary string }

func beforeUse() []use {
	return []use{
		{ruleCRD, "An object stands before the CRD of its kind"},
		{"controller-before-use", "An object stands before the controller that makes it Ready"},
		{ruleNamespace, "An object stands before its namespace"},
		{"secret-before-use", "An object stands before a Secret that it reads"},
		{"configmap-before-use", "An object stands before a ConfigMap that it reads"},
		{"serviceaccount-before-use", "An object stands before its ServiceAccount or role"},
		{ruleStorageClass, "A volume stands before its StorageClass"},
		{"pvc-before-use", "A pod stands before a volume claim that it mounts"},
		{"secretstore-before-use", "An ExternalSecret stands before its secret store"},
		{"issuer-before-use", "A certificate stands before its issuer"},
		{ruleClass, "An object stands before its class"},
		{ruleService, "An object stands before a Service that it calls"},
		{ruleWebhook, "An object stands before a webhook that must admit it"},
		{"apiservice-before-use", "An object stands before the API server that serves its kind"},
	}
}

// judgeUse judges the order of the dependencies of one rule.
func judgeUse(in Input, rule string) []finding.Finding {
	var out []finding.Finding
	o := newOrder(in)
	speakers := o.speakers(in)
	var dryRun dryRun
	if rule == ruleCRD {
		dryRun = newDryRun(in, o)
	}
	for _, d := range in.Dependencies {
		if d.Rule != rule || tooWeak(d) || dryRun.fails(d) {
			continue // a dry run that fails is a finding of its own
		}
		var f finding.Finding
		var ok bool
		if d.Within() {
			f, ok = o.useWithin(d)
		} else {
			f, ok = o.useAcross(d)
			ok = ok && speakers.speaks(d)
		}
		if ok {
			out = append(out, f)
		}
	}
	if rule == ruleNamespace {
		out = append(out, o.movedNamespaces(in)...)
	}
	return out
}

// movedNamespaces finds Namespaces that are written into a later wave than what
// lands in them. Argo CD moves such a Namespace to the first of these objects, so
// nothing breaks; but the wave says something else. Source: gitops-engine,
// pkg/sync, syncTasks.adjustDeps.
func (o *order) movedNamespaces(in Input) []finding.Finding {
	var out []finding.Finding
	for _, object := range in.Objects {
		r := object.Resource
		if _, enabled := o.byName[object.Component]; !enabled || r.Group != "" || r.Kind != "Namespace" || object.Wave <= object.Place.Wave {
			continue
		}
		out = append(out, finding.Finding{
			Rule: ruleNamespace, Severity: finding.Info, Scope: finding.Within, Component: object.Component, Provider: object.Component,
			Resource: r, Position: object.Position, Basis: finding.Rendered,
			Message: fmt.Sprintf("%s is written into wave %d, behind objects of wave %d that land in it; Argo CD moves it there",
				r.Human(), object.Wave, object.Place.Wave),
			Fix: finding.Fix{Summary: fmt.Sprintf("write the wave that counts: one before %d", object.Place.Wave)},
		})
	}
	for _, d := range in.Dependencies {
		if _, enabled := o.byName[d.Consumer.Component]; !enabled || !movesNamespace(d) {
			continue
		}
		f := fromDependency(d, finding.Within)
		f.Severity, f.Position = finding.Info, d.Provider.Position
		f.Message = fmt.Sprintf("%s is written into wave %d, behind objects of a chart that land in it (%s); Argo CD moves it there",
			who(d.Provider), d.Provider.Place.Wave, when(d.Consumer.Place))
		f.Fix.Summary = fmt.Sprintf("write the wave that counts: one before %d", d.Consumer.Place.Wave)
		out = append(out, f)
	}
	return out
}

// unknownParent is the folder of a component whose parent is not in the repository.
func unknownParent(c *component.Component) (folder string, unknown bool) {
	if len(c.Parents) == 0 {
		return "", false
	}
	return strings.CutSuffix(c.Parents[0], "/")
}

// onlyCreated reports whether a namespace is made by a sync option, as any other
// Application may do as well, and is no object of its provider.
func onlyCreated(d dependency.Dependency) bool {
	return d.Rule == ruleNamespace && d.Provider.Object.Kind == ""
}

// movesNamespace reports whether a chart that is not rendered lands in a Namespace
// that its own Application writes into a later wave.
func movesNamespace(d dependency.Dependency) bool {
	return d.Rule == ruleNamespace && d.Within() && d.Consumer.Object.Kind == "" && d.Provider.Object.Kind == "Namespace" &&
		d.Consumer.Place.Compare(d.Provider.Place) < 0
}

// tooWeak reports whether a dependency is good for an order and no ground for a
// finding: a name in free text, or something that only a failing sync makes.
func tooWeak(d dependency.Dependency) bool {
	const syncFail = 3
	return d.Hint || d.Consumer.Place.Hook == syncFail || d.Provider.Place.Hook == syncFail
}

// useAcross judges a dependency between two components.
//
// An Application whose object is refused is tried again, so that nothing is
// wrong where no order is meant at all. Where the environment orders its
// components, the two were forgotten.
func (o *order) useAcross(d dependency.Dependency) (finding.Finding, bool) {
	consumer, provider, ok := o.ends(d)
	if !ok {
		return finding.Finding{}, false
	}
	f := fromDependency(d, finding.Cross)
	switch rank := o.compare(consumer, provider); {
	case rank > 0:
		return f, false
	case rank < 0:
		f.Severity = bySeverity(d.Strength)
		f.Message = fmt.Sprintf("%s (%s) %s, but %s comes later (%s)",
			whose(d.Consumer), o.place(consumer), d.Reason, provider.Name, o.place(provider))
		if f.Severity == finding.Error && o.passes(consumer, provider) && o.heals(d, consumer) {
			f.Severity = finding.Warning
			f.Message += fmt.Sprintf("; nothing waits for %s, so that it is likely to heal once %s is there", consumer.Name, provider.Name)
		}
	case o.forgotten(d, consumer, provider):
		f.Severity = finding.Warning
		f.Message = fmt.Sprintf("%s %s, which %s provides, and nothing orders the two (%s, %s)",
			whose(d.Consumer), d.Reason, provider.Name, o.place(consumer), o.place(provider))
	default:
		return f, false
	}
	if folder, unknown := unknownParent(consumer); unknown && onlyCreated(d) {
		f.Severity = finding.Info
		f.Message += fmt.Sprintf("; what applies %s is not in the repository, and may make the namespace", folder)
	}
	f.Evidence = append(f.Evidence, o.placed(consumer), o.placed(provider))
	f.Fix.Summary = o.after(consumer, provider)
	return f, true
}

// has reports whether a component has a place at all. One of a ladder without a
// phase has none, which is a finding of its own.
func (o *order) has(c *component.Component) bool {
	return c.PreArgo || c.Phase >= 0 || len(c.Waves) > 0 || c.Set != "" || o.ladder.Layout == plan.AppOfApps
}

// forgotten reports whether nothing orders a dependency that needs an order, in an
// environment that has one: the consumer would be refused.
func (o *order) forgotten(d dependency.Dependency, consumer, provider *component.Component) bool {
	return o.any && d.Strength == plan.Hard && d.Effect == dependency.Apply && !nested(consumer, provider) &&
		o.has(consumer) && o.has(provider) && together(consumer, provider) && o.compare(consumer, provider) == 0
}

// together reports whether one and the same root applies two components. What
// people apply one by one they order as they like.
func together(a, b *component.Component) bool {
	if a.Set != "" && a.Set == b.Set || len(a.Parents) == 0 && len(b.Parents) == 0 {
		return true
	}
	return len(a.Parents) > 0 && len(b.Parents) > 0 && a.Parents[0] != "" && a.Parents[0] == b.Parents[0]
}

// speakers has the dependency that speaks for all between two components that
// nothing orders: that order is one thing to mend, whatever it is good for.
type speakers map[[2]string]dependency.Dependency

func (o *order) speakers(in Input) speakers {
	s := speakers{}
	if !o.any {
		return s
	}
	for _, d := range in.Dependencies {
		// What is cheap to ask first.
		if d.Strength != plan.Hard || d.Effect != dependency.Apply || d.Rule == "" || d.Within() || tooWeak(d) {
			continue
		}
		consumer, provider, ok := o.ends(d)
		if !ok || !o.forgotten(d, consumer, provider) {
			continue
		}
		key := [2]string{consumer.Name, provider.Name}
		if have, ok := s[key]; !ok || speaksBefore(d, have) {
			s[key] = d
		}
	}
	return s
}

// speaksBefore prefers what is refused by the API server itself to what a webhook
// refuses, then the first by name.
func speaksBefore(d, e dependency.Dependency) bool {
	return cmp.Or(
		cmp.Compare(boolRank(d.Rule == ruleWebhook), boolRank(e.Rule == ruleWebhook)),
		strings.Compare(d.Rule, e.Rule),
		strings.Compare(d.Required.String(), e.Required.String()),
	) < 0
}

func boolRank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// speaks reports whether a dependency may make a finding: where the two are
// ordered every one may.
func (s speakers) speaks(d dependency.Dependency) bool {
	have, ok := s[[2]string{d.Consumer.Component, d.Provider.Component}]
	return !ok || have.Rule == d.Rule && have.Required == d.Required
}

// nested reports whether one component is a parent of the other, whose own
// objects are applied in the sync that applies the Application of the other.
func nested(a, b *component.Component) bool {
	if len(a.Parents) == 0 && len(b.Parents) == 0 {
		return a.AppOfApps != b.AppOfApps
	}
	return slices.Contains(a.Parents, b.Name) || slices.Contains(b.Parents, a.Name)
}

// useWithin judges a dependency between two objects of one component. What is
// applied and becomes Ready later is judged by the rule gate-deadlock.
func (o *order) useWithin(d dependency.Dependency) (finding.Finding, bool) {
	f := fromDependency(d, finding.Within)
	consumer, enabled := o.byName[d.Consumer.Component]
	if !enabled || d.Effect != dependency.Apply {
		return f, false
	}
	switch rank := d.Consumer.Place.Compare(d.Provider.Place); {
	case rank < 0:
		f.Severity = bySeverity(d.Strength)
		f.Message = fmt.Sprintf("%s (%s) %s, which is applied later (%s)",
			who(d.Consumer), when(d.Consumer.Place), d.Reason, when(d.Provider.Place))
		f.Fix.Summary = fmt.Sprintf("give %s an earlier sync wave than %s", who(d.Provider), who(d.Consumer))
	case rank == 0 && d.Strength == plan.Hard && failsInOnePass(d):
		f.Severity = finding.Warning
		f.Message = fmt.Sprintf("%s %s and is applied in the same pass (%s): the first sync is likely to fail",
			who(d.Consumer), d.Reason, when(d.Consumer.Place))
		if o.retries(consumer) {
			f.Message += ", and to be retried"
		} else if _, application := o.automated[consumer.Name]; d.Rule == ruleWebhook && (application || !o.foreign) {
			f.Severity = finding.Error // the pods behind it are not up in the time of a pass
		}
		f.Fix.Summary = fmt.Sprintf("give %s a later sync wave than %s", who(d.Consumer), who(d.Provider))
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
func failsInOnePass(d dependency.Dependency) bool {
	switch d.Rule {
	case ruleWebhook:
		return true
	case ruleCRD:
		return !isCRD(d.Provider.Object)
	default:
		return d.Provider.Object.Kind != "" && d.Provider.Place.Kind > d.Consumer.Place.Kind
	}
}

func isCRD(r finding.Resource) bool {
	return r.Group == "apiextensions.k8s.io" && r.Kind == "CustomResourceDefinition"
}

// bySeverity is the severity of what stands in the wrong order.
func bySeverity(s plan.Strength) finding.Severity {
	if s == plan.Soft {
		return finding.Warning
	}
	return finding.Error
}

// fromDependency makes a finding without severity and message.
func fromDependency(d dependency.Dependency, scope finding.Scope) finding.Finding {
	return finding.Finding{
		Rule: d.Rule, Scope: scope, Component: d.Consumer.Component, Provider: d.Provider.Component,
		Resource: d.Required, Position: d.Consumer.Position, Basis: d.Basis, Evidence: slices.Clone(d.Evidence),
	}
}

// who names an end by its object, or by its component where it has none.
func who(e dependency.End) string {
	if e.Object.Kind == "" {
		return e.Component
	}
	return e.Object.Human()
}

// whose names an end with its component.
func whose(e dependency.End) string {
	if e.Object.Kind == "" {
		return e.Component
	}
	return e.Object.Human() + " of " + e.Component
}

// when says where an object stands in the sync of its Application.
func when(p dependency.Place) string {
	wave := fmt.Sprintf("wave %d", p.Wave)
	switch {
	case p.Hook < 1:
		return "PreSync hook, " + wave
	case p.Hook > 1:
		return "PostSync hook, " + wave
	case p.IsHook:
		return "Sync hook, " + wave
	default:
		return wave
	}
}
