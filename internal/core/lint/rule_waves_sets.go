package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// generatedHealth finds parents whose waves put an ApplicationSet first and, behind it, what
// requires the Applications that it generates: the wave waits for the set, which is Healthy
// once it has generated. Source: argo-cd,
// resource_customizations/argoproj.io/ApplicationSet/health.lua.
//
// Nothing is in the wrong order there, so that it is information; of a parent whose waves
// are known to wait for nothing it says nothing new.
func generatedHealth(in Input, told map[string]bool) []finding.Finding {
	o := newOrder(in)
	if o.flux != nil || len(o.made) == 0 {
		return nil
	}
	below := map[string][]step{}
	for _, s := range o.steps {
		if parent := o.unawaited(s); parent != "" && !told[parent] {
			below[parent] = append(below[parent], s)
		}
	}
	var out []finding.Finding
	for _, parent := range slices.Concat(in.Argo.Applications, in.Argo.Above) {
		if steps := below[parent.Name]; len(steps) > 0 {
			out = append(out, o.generatedFirst(parent, steps))
			delete(below, parent.Name)
		}
	}
	return out
}

// unawaited is the parent whose waves put what a step requires into an earlier wave, though
// an ApplicationSet has that wave; "" where it is not so.
func (o *order) unawaited(s step) string {
	consumer, provider := o.ends(s)
	if s.Strength != plan.Hard || o.compare(provider, consumer) >= 0 || slices.Contains(consumer.Parents, provider.Name) {
		return "" // what a component applies itself comes after what it begins with
	}
	at := partingAt(provider, consumer)
	if at >= min(len(provider.Waves), len(consumer.Waves), len(provider.Parents)) || o.made[standsAt(provider, at)] == "" {
		return ""
	}
	if _, isStep := provider.StepsAt(at); isStep {
		return ""
	}
	return provider.Parents[at]
}

// generatedFirst is the finding of one parent.
func (o *order) generatedFirst(parent argo.Application, steps []step) finding.Finding {
	slices.SortStableFunc(steps, func(a, b step) int { return strings.Compare(a.From+" "+a.To, b.From+" "+b.To) })
	consumer, provider := o.ends(steps[0])
	at := partingAt(provider, consumer)
	set := o.made[standsAt(provider, at)]
	f := aboutApplication(parent, ruleAppHealth, finding.Info,
		"the sync waves below %s do not wait for what ApplicationSet %s generates: the set (wave %d) is Healthy as soon as it has generated, before %s, which %s (wave %d) requires",
		parent.Name, set, provider.Waves[at], provider.Name, consumer.Name, consumer.Waves[at])
	f.Evidence = append(f.Evidence, o.placed(provider), o.placed(consumer))
	pairs := map[[2]int]bool{}
	for _, s := range steps {
		if pair := [2]int{s.from, s.to}; !pairs[pair] {
			pairs[pair] = true
			if len(pairs) <= named {
				f.Evidence = append(f.Evidence, o.stated(s.Edge))
			}
		}
	}
	if more := len(pairs) - 1; more > 0 {
		f.Message += fmt.Sprintf("; and %d more like this", more)
	}
	f.Fix.Summary = o.after(consumer, provider) + ", or let it heal by retrying"
	return f
}
