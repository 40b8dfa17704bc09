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

// leftToRetries tells, once for an environment that orders none of its components, of the
// objects whose kinds, or whose namespaces, another component brings. That may be meant: it is information.
// Source: argo-cd, controller autoSync, which tries a failed sync again five times,
// after 5, 10, 20, 40 and 80 seconds, where retry does not say otherwise.
func (o *order) leftToRetries(in Input, rule string) []finding.Finding {
	if o.any || o.flux != nil {
		return nil
	}
	pairs := map[[2]*model.Component]link{}
	for _, l := range o.byRule[rule] {
		if l.weak || !l.across() || l.Strength != plan.Hard || l.Effect != dependency.Apply {
			continue
		}
		consumer, provider := l.standing()
		if nested(consumer, provider) || !o.together(consumer, provider) || o.compare(consumer, provider) != 0 || o.chosen(consumer, provider) || !o.automated[l.consumer.Name] {
			continue
		}
		f := fromDependency(l, finding.Cross)
		f.Severity = finding.Warning
		if in.maybeThere(&f); f.Severity == finding.Info {
			continue
		}
		key := [2]*model.Component{l.consumer, l.provider}
		if have, ok := pairs[key]; !ok || comesBefore(l, have) {
			pairs[key] = l
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	all := make([]link, 0, len(pairs))
	for _, l := range pairs {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b link) int {
		return cmp.Or(strings.Compare(a.consumer.Name, b.consumer.Name), strings.Compare(a.provider.Name, b.provider.Name))
	})
	first := all[0]
	f := fromDependency(first, finding.Cross)
	f.Severity, f.Says = finding.Info, saysUnordered
	f.Message = fmt.Sprintf("nothing orders the components: %s %s, which %s provides", whose(first.Consumer), first.Reason, first.provider.Name)
	f.Message += o.likewise(all, &f)
	f.Message += "; on a fresh cluster its sync fails until what it lacks is there"
	switch limit := first.consumer.Retry.Limit; {
	case limit == nil:
		f.Message += ", and Argo CD gives up after 5 retries within 3 minutes"
	case *limit >= 0:
		f.Message += fmt.Sprintf(", and Argo CD gives up after %s", finding.Count(*limit, "retry"))
	}
	f.Fix.Summary = o.after(first.consumer, first.provider) + "; ladder plan shows an order for all"
	return []finding.Finding{f}
}

// likewise says of which other components the same holds as of the first, those of one provider together, and
// adds evidence to the finding: of each provider before there is more of one.
func (o *order) likewise(all []link, f *finding.Finding) string {
	consumers := map[*model.Component][]string{}
	var providers []*model.Component
	var rest []link
	told := 0
	tell := func(l link) {
		if told++; told <= named {
			f.Evidence = append(f.Evidence, where(l.Consumer.Position, "%s %s, which %s provides", whose(l.Consumer), l.Reason, l.provider.Name))
		}
	}
	for i, l := range all {
		if _, known := consumers[l.provider]; !known {
			providers = append(providers, l.provider)
		}
		switch {
		case i == 0:
			consumers[l.provider] = nil
			continue
		case len(consumers[l.provider]) > 0 || l.provider == all[0].provider:
			rest = append(rest, l)
		default:
			tell(l)
		}
		consumers[l.provider] = append(consumers[l.provider], l.consumer.Name)
	}
	for _, l := range rest {
		tell(l)
	}
	var said []string
	for _, p := range providers {
		switch names := consumers[p]; {
		case len(names) == 0:
		case p == all[0].provider:
			said = append(said, few(names))
		default:
			said = append(said, few(names)+" with "+p.Name)
		}
	}
	if len(said) == 0 {
		return ""
	}
	if left := len(said) - named; left > 0 {
		said = append(said[:named], finding.Count(left, "more provider"))
	}
	return "; the same holds for " + strings.Join(said, ", and for ")
}
