package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

const ruleDryRun = "crd-cr-without-skip-dry-run"

// skipDryRun is the sync option that lets a sync begin while a kind is not
// served.
const skipDryRun = "SkipDryRunOnMissingResource=true"

// dryRunOnMissing finds objects whose kind comes through something that the same
// Application applies, but not as a CRD: a Subscription, a Crossplane definition,
// an operator, or an Application that brings it. Argo CD checks every object of an Application before it applies
// the first, whatever their waves, and skips the check by itself only where the
// CRD is an object of the sync; so the sync fails, and what would bring the kind
// is never applied. Source: Argo CD, user guide, "Sync Options", "Skip Dry Run for
// new custom resources types"; gitops-engine, pkg/sync, hasCRDOfGroupKind.
func dryRunOnMissing(in Input) []finding.Finding {
	o := newOrder(in)
	links := o.byRule[ruleCRD]
	out := dryRunOfUnknown(in)
	if len(links) == 0 || in.Flux != nil {
		return out // Flux has no such option: see crd-before-use
	}
	dryRun := newDryRun(in)
	for _, l := range links {
		failing := dryRun.failing(l)
		if len(failing) == 0 {
			continue
		}
		f := in.dryRunFails(o, l.of(failing[0]))
		if len(failing) > 1 {
			f.Evidence = append(f.Evidence, furtherEnds(failing[1:]))
		}
		in.maybeThere(&f)
		in.maybeInstalled(&f, l.provider)
		out = append(out, f)
	}
	return out
}

// dryRunFails says that the dry run of a consumer fails.
func (in Input) dryRunFails(o *order, l link) finding.Finding {
	f := fromDependency(l, finding.Within)
	f.Rule, f.Severity = ruleDryRun, finding.Error
	how, provider := "brings only once it is applied", who(l.Provider)
	if l.Provider.Object.Kind == "Deployment" {
		how = "brings only once it runs"
	}
	if !l.within {
		f.Scope = finding.Cross
		how, provider = fmt.Sprintf("brings, an Application that %s applies itself", l.Consumer.Component), l.Provider.Component
	}
	fails := fmt.Sprintf("fails, and nothing of %s is ever applied", l.Consumer.Component)
	if in.hasArgoCD(*l.consumer) {
		f.Severity = finding.Info
		fails = fmt.Sprintf("fails until the kind is there; %s has Argo CD itself, so that something else may have applied it before", l.Consumer.Component)
	}
	if f.Severity == finding.Error && in.madeByItself(*l.consumer) {
		f.Severity = finding.Info
		fails = fmt.Sprintf("fails until the kind is there; %s is made by what it applies itself, so that something else may have applied all of it before", l.Consumer.Component)
	}
	if other := in.otherParent(l.Provider.Component, l.Consumer.Component); f.Severity == finding.Error && !l.within && other != "" {
		f.Severity = finding.Warning
		fails = fmt.Sprintf("fails until the kind is there; %s applies %s as well", other, l.Provider.Component)
	}
	if f.Severity == finding.Error && !l.within && in.ByHand != nil {
		if told, ok := in.ByHand(FileByHand(l.provider.Position.File)); ok {
			f.Severity = finding.Info
			fails = fmt.Sprintf("fails until the kind is there; %s has %s applied by hand, so that it may be there before", told.File, l.Provider.Component)
			f.Evidence = append(f.Evidence, told)
		}
	}
	f.Message = fmt.Sprintf("%s is of a kind that %s %s: without %s the dry run %s", who(l.Consumer), provider, how, skipDryRun, fails)
	f.Fix.Summary = fmt.Sprintf("annotate it with argocd.argoproj.io/sync-options: %s", skipDryRun)
	late := l.Consumer.Place.Compare(l.Provider.Place) > 0
	if !l.within {
		consumer, provider := l.standing()
		late = o.compare(consumer, provider) > 0
	}
	if !late {
		f.Fix.Summary += " and give it a later sync wave than " + provider
	}
	return f
}

// otherParent is a parent that applies an Application as well as another one does; empty where
// there is none.
func (in Input) otherParent(application, parent string) string {
	for _, a := range in.Argo.Applications {
		if (a.Component == application || a.Component == "" && a.Name == application) && a.Parent != "" && a.Parent != parent {
			return a.Parent
		}
	}
	return ""
}

// madeByItself reports whether an Application is made by a template of its own chart, or by an
// ApplicationSet that it applies: who installs it first applies the rest of it as well.
func (in Input) madeByItself(c model.Component) bool {
	return slices.ContainsFunc(c.Sources, func(s model.Source) bool {
		return s.Kind == model.Chart && s.Path != "" && strings.HasPrefix(c.Position.File, s.Path+"/templates/")
	}) || slices.ContainsFunc(in.Argo.ApplicationSets, func(s argo.ApplicationSet) bool {
		return s.Parent == c.Name && slices.Contains(s.Applications, c.Name)
	})
}

// hasArgoCD reports whether a component has Argo CD itself: a workload of its, or what makes
// all of it and is not rendered.
func (in Input) hasArgoCD(c model.Component) bool {
	if slices.ContainsFunc(in.Objects, func(o Object) bool {
		return o.Component == c.Name && o.Resource.Group == "apps" && o.Labels["app.kubernetes.io/part-of"] == "argocd"
	}) {
		return true
	}
	at := in.Argo.Settings.Whole
	if at.File == "" {
		return false
	}
	// Of folders within each other, the one that is the nearest has the file.
	depth := func(s model.Source) int {
		switch {
		case s.RepoURL != "" && s.Position.File == at.File:
			return math.MaxInt
		case s.Path == ".":
			return 1
		case s.Path != "" && strings.HasPrefix(at.File, s.Path+"/"):
			return 1 + len(s.Path)
		}
		return 0
	}
	own, nearest := 0, 0
	for i := range in.Components {
		for _, s := range in.Components[i].Sources {
			nearest = max(nearest, depth(s))
			if in.Components[i].Name == c.Name {
				own = max(own, depth(s))
			}
		}
	}
	return own > 0 && own == nearest
}

// dryRun knows which objects are excepted from the dry run.
type dryRun struct {
	// options by object, and those of Applications by component.
	options       map[dependency.End][]string
	ofApplication map[string][]string
}

func newDryRun(in Input) dryRun {
	r := dryRun{options: map[dependency.End][]string{}, ofApplication: map[string][]string{}}
	for i := range in.Objects {
		if object := &in.Objects[i]; len(object.SyncOptions) > 0 {
			r.options[dependency.End{Component: object.Component, Object: object.Resource}] = object.SyncOptions
		}
	}
	for _, app := range in.Argo.Applications {
		if app.Component != "" {
			r.ofApplication[app.Component] = append(r.ofApplication[app.Component], app.SyncOptions...)
		}
	}
	return r
}

// fails reports whether the dry run of the consumer fails for want of the provider.
func (r dryRun) fails(l link) bool { return len(r.failing(l)) > 0 }

// skipped reports whether the sync begins without the kind that the consumer is of.
func (r dryRun) skipped(l link) bool {
	c, all := l.consumer, l.Refused
	if len(all) == 0 {
		all = []dependency.End{l.Consumer}
	}
	return skips(c.SyncOptions) || skips(r.ofApplication[c.Name]) || !slices.ContainsFunc(all, func(e dependency.End) bool {
		return e.Object.Kind == "" || !skips(r.options[dependency.End{Component: e.Component, Object: e.Object}])
	})
}

// failing are the objects of the consumer whose dry run fails for want of the provider.
func (r dryRun) failing(l link) []dependency.End {
	if l.Rule != ruleCRD || l.within && (l.Provider.Object.Kind == "" || isCRD(l.Provider.Object)) {
		return nil
	}
	c := l.consumer
	if c == nil || c.PreArgo || !l.within && !l.toChild() || skips(c.SyncOptions) || skips(r.ofApplication[c.Name]) {
		return nil
	}
	all := l.Refused
	if len(all) == 0 {
		all = []dependency.End{l.Consumer}
	}
	return slices.DeleteFunc(slices.Clone(all), func(e dependency.End) bool {
		return skips(r.options[dependency.End{Component: e.Component, Object: e.Object}])
	})
}

// of is the link of another object of its consumer.
func (l link) of(e dependency.End) link {
	if e == l.Consumer {
		return l
	}
	d := *l.Dependency
	d.Consumer, d.Evidence = e, slices.Clone(d.Evidence)
	d.Evidence[0] = finding.Evidence{Text: e.Object.Human() + " " + d.Reason, File: e.Position.File, Line: e.Position.Line, Object: e.Object.String(), Field: d.Evidence[0].Field}
	l.Dependency = &d
	return l
}

// toChild reports whether an object beside the Applications of a parent is of a kind
// that one of these Applications brings.
func (l link) toChild() bool {
	return l.provider != nil && l.consumer.AppOfApps && l.Consumer.Object.Kind != "" && l.Strength == plan.Hard && slices.Contains(l.provider.Parents, l.consumer.Name)
}

func skips(options []string) bool {
	return slices.ContainsFunc(options, func(s string) bool { return strings.TrimSpace(s) == skipDryRun })
}
