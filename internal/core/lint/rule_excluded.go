package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

const (
	ruleExcluded = "kind-excluded"
	// inClusterServer is the address of the cluster that Argo CD runs in.
	inClusterServer = "https://kubernetes.default.svc"
)

// kindExcluded finds kinds that the repository applies and that the exclusions of the
// installation hide: Argo CD leaves such objects out of a sync, so that what needs one
// never gets it. Source: argo-cd, controller/state.go, CompareAppState.
func kindExcluded(in Input) []finding.Finding {
	s := in.Argo.Settings
	if len(s.Exclusions)+len(s.Inclusions) == 0 {
		return nil
	}
	o := newOrder(in)
	needs := map[dependency.End]link{}
	for _, l := range o.links {
		provider := dependency.End{Component: l.Provider.Component, Object: l.Provider.Object}
		if _, known := needs[provider]; !known && !l.weak && l.consumer != nil {
			needs[provider] = l
		}
	}
	last := map[string]int{} // waves
	for i := range in.Objects {
		c := in.Objects[i].Component
		last[c] = max(last[c], in.Objects[i].Wave)
	}
	type kind struct{ group, kind string }
	told, spoken, of := map[kind]int{}, map[kind]bool{}, map[kind][]*Object{}
	var out []finding.Finding
	for i := range in.Objects {
		object := &in.Objects[i]
		c := o.byName[object.Component]
		if c == nil || c.PreArgo {
			continue
		}
		by, hidden := hides(s, object.Resource, c)
		if !hidden {
			continue
		}
		l, needed := needs[dependency.End{Component: object.Component, Object: object.Resource}]
		gates := !needed && !by.Default && (object.Place.IsHook || object.Resource.Kind == "Job" && object.Wave < last[object.Component])
		k := kind{object.Resource.Group, object.Resource.Kind}
		of[k] = append(of[k], object)
		n, again := told[k]
		switch {
		case !again:
			told[k] = len(out)
			out = append(out, excluded(object, by))
			n = len(out) - 1
		case !spoken[k] && (needed || gates):
			out[n] = excluded(object, by) // one that something needs speaks for the kind
		default:
			needed, gates = false, false
		}
		if gates {
			spoken[k] = true
			out[n].Severity = finding.Warning
			out[n].Message += ", and what comes after it does not wait for it"
		}
		if needed {
			spoken[k] = true
			out[n].Severity = finding.Warning
			out[n].Message += fmt.Sprintf(", and %s %s", whose(l.Consumer), l.Reason)
			out[n].Evidence = append(out[n].Evidence, where(l.Consumer.Position, "%s %s", who(l.Consumer), l.Reason))
		}
	}
	for k, n := range told {
		alsoExcluded(&out[n], of[k])
	}
	return append(out, excludedOfArgo(in)...)
}

// alsoExcluded adds the other objects of its kind to a finding.
func alsoExcluded(f *finding.Finding, all []*Object) {
	others := slices.DeleteFunc(slices.Clone(all), func(o *Object) bool { return o.Position == f.Position && o.Resource == f.Resource })
	if len(others) == 0 {
		return
	}
	f.Message += fmt.Sprintf("; nor does it apply %s of the kind", finding.Count(len(others), "more object"))
	for _, o := range others[:min(len(others), named)] {
		f.Evidence = append(f.Evidence, where(o.Position, "%s is one", o.Resource.Human()))
	}
}

func excluded(object *Object, by argo.Filters) finding.Finding {
	r := object.Resource
	f := finding.Finding{
		Rule: ruleExcluded, Severity: finding.Info, Scope: finding.Rule, Component: object.Component, Resource: r, Position: object.Position, Basis: finding.Rendered,
	}
	if by.Default {
		f.Severity = finding.Warning // nobody has decided it
		f.Message = fmt.Sprintf("Argo CD does not apply %s: since version 3 it leaves out the kind %s where no settings say otherwise", r.Human(), r.Kind)
		f.Fix.Summary = fmt.Sprintf("set resource.exclusions in argocd-cm to what may stay hidden, without %s", r.Kind)
		f.Evidence = append(f.Evidence, where(by.Position, "the settings of this installation are those that it comes with"))
		return f
	}
	f.Message = fmt.Sprintf("Argo CD does not apply %s: its settings hide the kind %s", r.Human(), r.Kind)
	f.Fix.Summary = fmt.Sprintf("take %s out of the exclusions, or into the inclusions, of argocd-cm", r.Kind)
	f.Evidence = append(f.Evidence, where(by.Position, "these settings leave the kind out"))
	return f
}

// hides reports whether Argo CD leaves objects of a kind out, and by which place. Of
// several places that have exclusions each has to say so: one may be written over another,
// or be of another installation. What no inclusion has is excluded.
func hides(s argo.Settings, r finding.Resource, c *model.Component) (by argo.Filters, hidden bool) {
	among := func(f argo.Filter) bool { return filters(f, r, c) }
	for i, place := range s.Exclusions {
		if !slices.ContainsFunc(place.Filters, among) {
			break
		}
		if i == len(s.Exclusions)-1 {
			return s.Exclusions[0], true
		}
	}
	for _, place := range s.Inclusions {
		here := slices.ContainsFunc(place.Filters, func(f argo.Filter) bool { return covers(f.Clusters, c) })
		if !here || slices.ContainsFunc(place.Filters, func(f argo.Filter) bool {
			return filters(argo.Filter{Groups: f.Groups, Kinds: f.Kinds}, r, c)
		}) {
			return by, false
		}
		by, hidden = s.Inclusions[0], true
	}
	return by, hidden
}

// filters reports whether a filter is about a kind in the cluster of a component.
func filters(f argo.Filter, r finding.Resource, c *model.Component) bool {
	return anyOf(f.Groups, func(pattern string) bool { return glob(pattern, r.Group) }) &&
		anyOf(f.Kinds, func(kind string) bool { return kind == "*" || kind == r.Kind }) && covers(f.Clusters, c)
}

// covers reports whether patterns of servers are known to match the cluster of a
// component: only the name of others is known.
func covers(patterns []string, c *model.Component) bool {
	return anyOf(patterns, func(pattern string) bool {
		switch {
		case c.Cluster == "" || c.Cluster == model.InCluster:
			return glob(pattern, inClusterServer)
		case strings.Contains(c.Cluster, "://"):
			return glob(pattern, c.Cluster)
		default:
			return pattern == "*"
		}
	})
}

// anyOf reports whether one of a list holds; no list is every one.
func anyOf(list []string, holds func(string) bool) bool {
	return len(list) == 0 || slices.ContainsFunc(list, holds)
}
