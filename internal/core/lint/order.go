package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// order answers where the enabled components of an input stand to each other.
type order struct {
	ladder plan.Ladder
	byName map[string]*model.Component
	// enabled are the components of byName, sorted by name, and number the places of
	// the names there, counted from 1; links and steps are the dependencies and the
	// edges of the input with their components. Links of one rule stand together: see
	// byRule.
	enabled []*model.Component
	number  map[string]int
	links   []link
	byRule  map[string][]link
	inside  []link // those within a component
	steps   []step
	// hard, representatives, refused and assessed are made when first asked for.
	hard            func() *dag.Graph
	refused         func() map[used]finding.Severity
	representatives func() representatives
	dryRun          func() dryRun
	// besides are the dependencies of parents on what they apply in the same wave.
	besides  func() map[*dependency.Dependency]bool
	assessed func() assessment
	// refusals are the pairs of components of which the first has objects that are refused
	// without the second; brought are the links to the CRDs that a component brings.
	refusals func() map[[2]*model.Component]bool
	brought  func() map[*model.Component][]link
	// networks are the components that give pods their network.
	networks func() map[*model.Component]bool
	// lastNeeded is where the last of the objects of a second component stands that a first one
	// cannot do without.
	lastNeeded func() map[[2]*model.Component]dependency.Place
	// needs is what the Kustomizations of Flux need of each other.
	needs func() fluxNeeds
	// steppedAt has the answers of stepOf.
	steppedAt map[phased]int
	// split are the RollingSync steps whose components stand in several steps of the ladder.
	split map[setStep]bool
	// abreast are the ApplicationSets that nothing orders: see isAbreast.
	abreast map[string]bool
	// any is set where something is ordered at all: two components of the
	// environment stand at different places.
	any bool
	// automated are the components whose Applications sync by themselves; it has no
	// entry for what is no Application.
	automated map[string]bool
	// valued are the sync waves of those whose wave is a value of a chart.
	valued map[string]argo.Wave
	// byHand are the names of the Applications that somebody syncs by hand, where others
	// sync by themselves.
	byHand map[string]bool
	// foreign is set where the repository says by Applications what is applied.
	foreign bool
	// unassessed is set where Applications are known to count as Healthy at once,
	// unstepped where RollingSync is known to order nothing,
	// made are the Applications that an ApplicationSet makes which is Healthy before
	// they are, with its name.
	unassessed bool
	unstepped  bool
	made       map[string]string
	// flux is the order of Flux; nil where it does not apply the environment.
	flux *fluxOrder
}

// phased is what a ladder knows of a component.
type phased struct {
	phase  model.Phase
	domain string
}

// setStep is one RollingSync step of an ApplicationSet.
type setStep struct {
	set  string
	step int
}

// retries reports whether a failed sync of a component is tried again by itself:
// where its retry or that of the ladder says so, and, as long as none is written,
// where the sync is automated. Source: Argo CD, controller autoSync, which retries
// five times.
func (o *order) retries(c *model.Component) bool {
	limit := c.Retry.Limit
	if automated, application := o.automated[c.Name]; limit == nil && (application || o.foreign) {
		return automated // who applies what no Application names is not known
	}
	if limit == nil {
		limit = o.ladder.Retry.Limit
	}
	return limit != nil && *limit != 0
}

func newOrder(in Input) *order {
	if in.order != nil {
		return in.order
	}
	o := &order{
		ladder: in.Ladder, byName: map[string]*model.Component{}, steppedAt: map[phased]int{}, split: map[setStep]bool{},
		automated: map[string]bool{}, valued: map[string]argo.Wave{}, made: map[string]string{},
	}
	o.flux = newFluxOrder(in.Flux)
	o.foreign = len(in.Argo.Applications) > 0
	o.unassessed = in.Argo.Settings.Known && !in.Argo.Settings.Assesses("argoproj.io", "Application")
	o.unstepped = in.Argo.Settings.Unordered()
	for _, s := range in.Argo.ApplicationSets {
		if s.RollingSync {
			continue
		}
		for _, name := range s.Applications {
			o.made[name] = s.Name
		}
	}
	for _, a := range in.Argo.Applications {
		o.automated[a.Component] = a.Automated
		if a.Wave.Of != "" && a.Component != "" {
			o.valued[a.Component] = a.Wave
		}
	}
	o.byHand = byHand(in.Argo.Applications)
	for i := range in.Components {
		c := &in.Components[i]
		if _, twice := o.byName[c.Name]; !c.Enabled || twice {
			continue
		}
		o.byName[c.Name] = c
		o.enabled = append(o.enabled, c)
		at := phased{c.Phase, c.Domain}
		if _, known := o.steppedAt[at]; !known {
			o.steppedAt[at] = stepOf(in.Ladder, at)
		}
	}
	o.findSplit()
	o.findAbreast()
	o.any = o.flux != nil || o.anyOrdered()
	o.look(in)
	o.hard = sync.OnceValue(o.hardGraph)
	o.representatives = sync.OnceValue(o.findRepresentatives)
	o.dryRun = sync.OnceValue(func() dryRun { return newDryRun(in) })
	o.besides = sync.OnceValue(func() map[*dependency.Dependency]bool { return o.findBesides(in) })
	o.refused = sync.OnceValue(func() map[used]finding.Severity { return o.refusedKinds(in) })
	o.assessed = sync.OnceValue(func() assessment { return assessments(in) })
	o.refusals = sync.OnceValue(func() map[[2]*model.Component]bool {
		all := map[[2]*model.Component]bool{}
		for _, l := range o.links {
			if l.refuses && !l.weak {
				all[[2]*model.Component{l.consumer, l.provider}] = true
			}
		}
		return all
	})
	o.lastNeeded = sync.OnceValue(func() map[[2]*model.Component]dependency.Place {
		last := map[[2]*model.Component]dependency.Place{}
		for _, l := range o.links {
			if l.weak || l.Strength != plan.Hard {
				continue
			}
			pair := [2]*model.Component{l.consumer, l.provider}
			if at, known := last[pair]; !known || at.Compare(l.Provider.Place) < 0 {
				last[pair] = l.Provider.Place
			}
		}
		return last
	})
	o.needs = sync.OnceValue(o.findFluxNeeds)
	o.networks = sync.OnceValue(func() map[*model.Component]bool { return o.findNetworks(in) })
	o.brought = sync.OnceValue(func() map[*model.Component][]link {
		all := map[*model.Component][]link{}
		for _, l := range o.byRule[ruleCRD] {
			all[l.provider] = append(all[l.provider], l)
		}
		return all
	})
	return o
}

// findSplit finds the steps of sets that a ladder parts by phases which the sets know
// nothing of.
func (o *order) findSplit() {
	first := map[setStep]int{}
	for _, c := range o.enabled {
		r, at := setStep{c.Set, c.Step}, o.stepAt(c)
		if c.Set == "" || c.Step == 0 || at < 0 {
			continue
		}
		if known, ok := first[r]; ok && known != at {
			o.split[r] = true
		} else {
			first[r] = at
		}
	}
}

// byHand finds the Applications without automated sync. Where no Application has it, that
// is no choice, and nothing is concluded.
func byHand(applications []argo.Application) map[string]bool {
	named, some := map[string]bool{}, false
	for i := range applications {
		named[applications[i].Name] = !applications[i].Automated
		some = some || applications[i].Automated
	}
	if !some {
		return nil
	}
	return named
}

// anyOrdered compares one component of every place with those of the others.
func (o *order) anyOrdered() bool {
	seen := map[string]bool{}
	var places []*model.Component
	for _, a := range o.enabled {
		place := fmt.Sprintf("%v %v %q %d %d %q %q", a.PreArgo, a.Waves, a.Set, a.Step, a.Phase, a.Domain, a.Parents)
		if seen[place] {
			continue
		}
		seen[place] = true
		for _, b := range places {
			if o.compare(a, b) != 0 {
				return true
			}
		}
		places = append(places, a)
	}
	return false
}

// stepOf finds the step of the ladder that matches a component ordered by
// phases: that of its own tier before that of another; -1 for none.
func stepOf(l plan.Ladder, c phased) int {
	found := -1
	if c.phase < 0 {
		return found
	}
	for i, s := range l.Steps {
		if !slices.Contains(s.Phases, c.phase) {
			continue
		}
		if s.Set == c.domain {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

// stepAt is the index of the step that matches a component ordered by phases, -1
// for none.
func (o *order) stepAt(c *model.Component) int {
	at := phased{c.Phase, c.Domain}
	if step, known := o.steppedAt[at]; known {
		return step
	}
	return stepOf(o.ladder, at)
}

// compare is negative where a comes earlier, positive where it comes later, and
// 0 where nothing orders the two.
func (o *order) compare(a, b *model.Component) int {
	if o.flux != nil {
		return o.flux.Compare(a.Name, b.Name)
	}
	if a.PreArgo || b.PreArgo || len(a.Waves) > 0 || len(b.Waves) > 0 || a.Set != "" || b.Set != "" {
		order := model.Compare(a, b)
		if r := (setStep{a.Set, a.Step}); order == 0 && o.split[r] && r == (setStep{b.Set, b.Step}) && slices.Equal(a.Waves, b.Waves) {
			if s, t := o.stepAt(a), o.stepAt(b); s >= 0 && t >= 0 {
				return cmp.Compare(s, t) // the ladder, which has more steps than the set
			}
		}
		if order == 0 && a.Set != b.Set && o.isAbreast(a) && o.isAbreast(b) {
			return o.byPhases(a, b)
		}
		return order
	}
	if o.ladder.Layout == plan.Tiers {
		s, t := slices.Index(o.ladder.Sets, a.Domain), slices.Index(o.ladder.Sets, b.Domain)
		if s >= 0 && t >= 0 && s != t {
			return cmp.Compare(s, t)
		}
	}
	s, t := o.stepAt(a), o.stepAt(b)
	if s >= 0 && t >= 0 && o.ladder.Steps[s].Set == o.ladder.Steps[t].Set {
		return cmp.Compare(s, t)
	}
	return model.Compare(a, b)
}

// passes reports whether what stands later follows although the first of two is not
// Healthy: nothing assesses the health of Applications, RollingSync is not switched on,
// or an ApplicationSet stands there, which is Healthy once it has generated. Source: argo-cd,
// resource_customizations/argoproj.io/ApplicationSet/health.lua.
func (o *order) passes(first, later *model.Component) bool {
	if first.PreArgo || later.PreArgo {
		return false
	}
	at := partingAt(first, later)
	if at == len(first.Waves) {
		return o.unstepped // a step waits for the Applications of the step before
	}
	if _, isStep := first.StepsAt(at); isStep {
		levels := len(first.Waves)
		if first.AppOfApps {
			levels-- // the last is the level of its own objects, which its health covers
		}
		return o.unstepped || o.unassessed && at+1 < levels
	}
	if at == len(later.Waves) {
		return false
	}
	return o.unassessed || o.made[standsAt(first, at)] != ""
}

// parted reports whether one of two components waits for the other by the order.
func (o *order) parted(a, b *model.Component) bool {
	switch at := o.compare(a, b); {
	case at < 0:
		return !o.passes(a, b)
	case at > 0:
		return !o.passes(b, a)
	}
	return false
}

// partingAt is the level at which the waves of two components differ, or one has no more.
func partingAt(a, b *model.Component) int {
	at := 0
	for at < len(a.Waves) && at < len(b.Waves) && a.Waves[at] == b.Waves[at] {
		at++
	}
	return at
}

// standsAt is what has the wave of a component on a level: the component, or its parent there.
func standsAt(c *model.Component, level int) string {
	if level+1 < len(c.Parents) {
		return c.Parents[level+1]
	}
	return c.Name
}

// doubt makes an error about two components in the wrong order a warning where only the
// waves below a parent that is not in the repository order them: it is assumed, and what
// applies them instead may heed no waves.
func doubt(f *finding.Finding, first, later *model.Component) {
	folder, assumed := assumedOrder(first, later)
	if !assumed || f.Severity != finding.Error {
		return
	}
	f.Severity = finding.Warning
	f.Message += fmt.Sprintf("; what applies %s is not in the repository, and may not heed their waves", folder)
}

// assumedOrder is the folder of the parent whose waves order two components, where that is
// assumed: see model.Parents.
func assumedOrder(a, b *model.Component) (folder string, assumed bool) {
	for i := range min(len(a.Waves), len(b.Waves), len(a.Parents), len(b.Parents)) {
		if a.Parents[i] != b.Parents[i] {
			return "", false
		}
		if a.Waves[i] != b.Waves[i] {
			return strings.CutSuffix(a.Parents[i], "/")
		}
	}
	return "", false
}

// heals reports whether a consumer becomes Healthy by itself once what it requires
// is there.
func (o *order) heals(l link, consumer *model.Component) bool {
	return l.Effect == dependency.Ready || o.retries(consumer)
}

// pair looks up two enabled components by name.
func (o *order) pair(a, b string) (p, q *model.Component, ok bool) {
	p, first := o.byName[a]
	q, second := o.byName[b]
	return p, q, first && second && a != b
}

// after says how to put one component behind another.
func (o *order) after(consumer, provider *model.Component) string {
	if o.flux != nil {
		if i, j, ok := o.flux.pair(consumer, provider); ok {
			return o.flux.mend(i, j)
		}
	}
	switch {
	case consumer.PreArgo:
		return fmt.Sprintf("apply %s before Argo CD as well, or %s after it", provider.Name, consumer.Name)
	case stepped(consumer, provider) != "":
		return stepped(consumer, provider)
	case len(consumer.Waves) > 0 || len(provider.Waves) > 0:
		return o.afterByWaves(consumer, provider)
	case consumer.Phase >= 0 && provider.Phase >= 0:
		return fmt.Sprintf("give %s a later phase than %s (%s), or %s an earlier one", consumer.Name, provider.Name, provider.Phase, provider.Name)
	default:
		return fmt.Sprintf("put %s behind %s: a later sync wave under one parent, or a later RollingSync step", consumer.Name, provider.Name)
	}
}

// stepped says how to put one component behind another where the steps of an
// ApplicationSet part the two, of which one at least is below a parent; "" elsewhere.
func stepped(consumer, provider *model.Component) string {
	for i := range max(len(consumer.Waves), len(provider.Waves)) {
		p, of := atStep(consumer, i)
		q, set := atStep(provider, i)
		if set != "" && set == of && p != q {
			return fmt.Sprintf("put %s into a later RollingSync step of ApplicationSet %s than %s", p, set, q)
		}
	}
	return ""
}

// atStep is what stands in the step of an ApplicationSet at a level of the path of a
// component, and the set: the component, or its parent there.
func atStep(c *model.Component, level int) (name, set string) {
	if set, ok := c.StepsAt(level); ok {
		return append(slices.Clone(c.Parents), c.Name)[level+1], set
	}
	if level == len(c.Waves) && c.Step > 0 {
		return c.Name, c.Set
	}
	return "", ""
}

// apart are the two that an order has to be given to: where the paths of parents
// part.
func apart(a, b *model.Component) (string, string) {
	p, q := path(a), path(b)
	for i := range min(len(p), len(q)) {
		if p[i] == q[i] {
			continue
		}
		if nameless(p[i]) || nameless(q[i]) {
			break
		}
		return p[i], q[i]
	}
	return a.Name, b.Name
}

// nameless is a parent that is not in the repository: see model.Parents.
func nameless(parent string) bool { return parent == "" || strings.HasSuffix(parent, "/") }

// path is what has each of the waves of a component: its parents below the root,
// and itself.
func path(c *model.Component) []string {
	if len(c.Parents) == 0 {
		return []string{c.Name}
	}
	return append(slices.Clone(c.Parents[1:]), c.Name)
}

// afterByWaves knows that a wave on what an ApplicationSet generates orders
// nothing, and that nobody waits for that.
func (o *order) afterByWaves(late, early *model.Component) string {
	if set, a, b := o.made[top(late)], top(late), top(early); set != "" && set == o.made[b] && a != b {
		return fmt.Sprintf("give %s a later RollingSync step of ApplicationSet %s than %s", a, set, b)
	}
	consumer, provider := apart(late, early)
	set, of := o.made[consumer], o.made[provider]
	switch {
	case of != "" && set == of:
		return fmt.Sprintf("order what ApplicationSet %s generates by RollingSync steps, or take %s out of it, as an Application with an earlier sync wave", of, provider)
	case of != "":
		return fmt.Sprintf("take %s out of ApplicationSet %s, which is Healthy as soon as it has generated, as an Application with an earlier sync wave than %s", provider, of, o.waved(consumer))
	}
	return o.way(late, early, o.waved(consumer), o.waved(provider))
}
