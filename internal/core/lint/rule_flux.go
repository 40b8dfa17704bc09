package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
)

const (
	ruleUnawaited = "depends-on-without-wait"
	ruleDelay     = "depends-on-delay"
)

// fluxCycles finds the circles of Kustomizations and HelmReleases in which each waits
// for the next.
func (o *order) fluxCycles() []finding.Finding {
	var out []finding.Finding
	for _, circle := range o.flux.Cycles() {
		first := &o.flux.units[circle[0]]
		f := finding.Finding{
			Rule: RuleCycle, Severity: finding.Error, Scope: finding.Cross, Basis: finding.Declared,
			Component: first.Component, Provider: o.flux.units[circle[1]].Component, Position: first.Position,
		}
		names := make([]string, len(circle))
		for i, u := range circle {
			names[i] = o.flux.units[u].Name
			if i+1 < len(circle) {
				evidence, soft := o.flux.waits(u, circle[i+1])
				f.Evidence = append(f.Evidence, evidence)
				if soft {
					f.Severity = finding.Warning
				}
			}
		}
		f.Message = strings.Join(names, " -> ") + ": each waits until the next is Ready, so that none ever is"
		f.Fix.Summary = "drop one of the dependencies, or let a parent not wait for the child that depends on it"
		out = append(out, f)
	}
	return out
}

// waits says why one unit waits for the next of a circle. soft is set where an
// expression says when it does.
func (f *fluxOrder) waits(i, j int) (evidence finding.Evidence, soft bool) {
	u, next := &f.units[i], &f.units[j]
	for _, d := range u.DependsOn {
		if d.Unit == j {
			return where(d.Position, "%s depends on %s", u, next), d.Expression
		}
	}
	switch {
	case next.Parent == i && u.Wait:
		return where(u.Position, "%s waits for everything that it applies, %s too", u, next), false
	case slices.Contains(u.Checks, j):
		return where(u.Position, "%s has a health check of %s", u, next), false
	default:
		return where(u.Position, "%s is applied by %s", u, next), false
	}
}

// dependsOnWithoutWait finds Kustomizations that others depend on and that are Ready
// before what they apply is.
func dependsOnWithoutWait(in Input) []finding.Finding {
	o := newOrder(in)
	if o.flux == nil {
		return nil
	}
	units := o.flux.units
	dependants := map[int][]int{}
	for i := range units {
		for _, d := range units[i].DependsOn {
			if d.Unit >= 0 && d.Unit != i && !d.Expression && !units[i].Suspended {
				dependants[d.Unit] = append(dependants[d.Unit], i)
			}
		}
	}
	var out []finding.Finding
	for i := range units {
		u := &units[i]
		if len(dependants[i]) == 0 || u.Gates() || u.Suspended {
			continue
		}
		late := o.flux.late(i, dependants[i])
		if late == "" {
			continue
		}
		f := finding.Finding{
			Rule: ruleUnawaited, Severity: finding.Info, Scope: finding.Rule, Basis: finding.Declared, Component: u.Component, Position: u.Position,
			Message: fmt.Sprintf("%s is Ready as soon as it is applied, before %s: %s not wait for that", u, late, o.flux.subject(dependants[i])),
		}
		f.Fix.Summary = "set wait: true, or name in healthChecks what the others need"
		if o.flux.holdsDependant(i) {
			f.Fix.Summary = "name in healthChecks what the others need; with wait: true it would wait for what depends on it"
		}
		if u.Kind == fluxcd.HelmRelease {
			f.Fix.Summary = "remove install.disableWait"
		}
		out = append(out, f)
	}
	return out
}

// subject says who depends on something.
func (f *fluxOrder) subject(dependants []int) string {
	const few = 3
	names := make([]string, len(dependants))
	for i, d := range dependants {
		names[i] = f.units[d].Name
	}
	if len(names) == 1 {
		return names[0] + " depends on it and so does"
	}
	if len(names) > few {
		return fmt.Sprintf("%s and %d more depend on it and so do", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " depend on it and so do"
}

// late names what a unit applies and does not wait for, but for what depends on it;
// empty where that is nothing that takes time.
func (f *fluxOrder) late(i int, dependants []int) string {
	var names []string
	for j := range f.units {
		depends := slices.ContainsFunc(dependants, func(d int) bool { return d == j || f.Applies(j, d) })
		if f.units[j].Parent == i && !f.units[j].Suspended && !depends {
			names = append(names, f.units[j].String())
		}
	}
	switch {
	case len(names) == 1:
		return names[0] + " is"
	case len(names) > 1:
		return fmt.Sprintf("%s and %d more are", names[0], len(names)-1)
	case f.units[i].Workloads:
		return "its workloads are"
	default:
		return ""
	}
}

// slow is how long a chain of dependencies may be without a word where each link costs up
// to fluxcd.Poll.
const slow = 4

// dependsOnDelay tells what the longest chain of dependencies costs.
func dependsOnDelay(in Input) []finding.Finding {
	o := newOrder(in)
	if o.flux == nil {
		return nil
	}
	chain := o.flux.Chain()
	links := len(chain) - 1
	poll := cmp.Or(in.Flux.Poll, fluxcd.Poll)
	if poll*time.Duration(links) < slow*fluxcd.Poll {
		return nil
	}
	names := make([]string, len(chain))
	f := finding.Finding{Rule: ruleDelay, Severity: finding.Info, Scope: finding.Rule, Basis: finding.Declared}
	for i, c := range chain {
		u := &o.flux.units[c]
		names[i] = cmp.Or(u.Component, u.Name)
		if i > 0 {
			f.Evidence = append(f.Evidence, where(u.Position, "%s waits for what comes before", u))
		}
	}
	last := &o.flux.units[chain[len(chain)-1]]
	f.Component, f.Position = last.Component, last.Position
	f.Message = fmt.Sprintf("the longest chain of dependencies has %d links (%s): Flux looks at each every %s, so that up to %s pass on top of the work itself",
		links, strings.Join(names, " -> "), finding.Duration(poll), finding.Duration(poll*time.Duration(links)))
	f.Fix.Summary = "depend only on what is needed, or let the controllers look more often with --requeue-dependency"
	return []finding.Finding{f}
}
