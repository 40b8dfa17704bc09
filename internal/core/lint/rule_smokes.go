package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

const (
	ruleSmokeLast    = "smoke-not-last"
	ruleSmokeShares  = "smoke-shares-phase"
	ruleSmokeTargets = "smoke-without-targets"
)

// RuleSmokeTestsNothing finds smokes of which nothing can fail.
const RuleSmokeTestsNothing = "smoke-tests-nothing"

// smokeNotLast finds smokes with something else of their band behind them. Bands
// without slots have smokes in between by design.
func smokeNotLast(in Input) []finding.Finding {
	var out []finding.Finding
	components := onLadder(in)
	for _, smoke := range components {
		band, ok := bandAt(in.Ladder, smoke.Phase)
		if smoke.Type != model.Smoke || !smoke.Enabled || !ok || !slotted(band) {
			continue
		}
		var later []string
		for _, c := range components {
			if c.Enabled && c.Type != model.Smoke && c.Phase > smoke.Phase && c.Phase <= band.To {
				later = append(later, fmt.Sprintf("%s (%s)", c.Name, c.Phase))
			}
		}
		if len(later) > 0 {
			out = append(out, aboutPhase(smoke, ruleSmokeLast, finding.Warning,
				fmt.Sprintf("move it to %s", band.To),
				"%s stands at %s, before %s of the band %s, which it cannot have validated", smoke.Name, smoke.Phase, some(later), band.Name))
		}
	}
	return out
}

// some names the first of several.
func some(names []string) string {
	slices.Sort(names)
	return few(names)
}

// few names the first of several, in their order.
func few(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// smokeSharesPhase finds smokes that run beside what is no smoke.
func smokeSharesPhase(in Input) []finding.Finding {
	var out []finding.Finding
	components := onLadder(in)
	for _, smoke := range components {
		if smoke.Type != model.Smoke || !smoke.Enabled || smoke.Phase < 0 {
			continue
		}
		var beside []string
		for _, c := range components {
			sameTier := c.Domain == smoke.Domain || len(in.Ladder.Sets) == 0
			if c.Enabled && c.Type != model.Smoke && c.Phase == smoke.Phase && sameTier {
				beside = append(beside, c.Name)
			}
		}
		if len(beside) > 0 {
			out = append(out, aboutPhase(smoke, ruleSmokeShares, finding.Warning, "give the smoke a later phase of its own",
				"%s shares phase %s with %s: RollingSync starts them together", smoke.Name, smoke.Phase, some(beside)))
		}
	}
	return out
}

// smokeWithoutTargets finds smokes that name nothing that they validate.
func smokeWithoutTargets(in Input) []finding.Finding {
	var out []finding.Finding
	for i := range in.Components {
		c := &in.Components[i]
		if c.Type != model.Smoke || !c.Enabled || len(c.Validates) > 0 || len(c.Requires) > 0 {
			continue
		}
		out = append(out, finding.Finding{
			Rule: ruleSmokeTargets, Severity: finding.Warning, Scope: finding.Rule, Component: c.Name,
			Position: c.At("validates"), Basis: finding.Declared,
			Message: c.Name + " does not say which components it validates, so that nothing holds it behind them",
			Fix:     finding.Fix{Summary: "list them: validates: [<component>, ...]"},
		})
	}
	return out
}

// smokeTestsNothing finds smokes of which nothing can fail. Without checks that can, and
// of which nothing is assessed, they are Healthy as soon as they are applied.
func smokeTestsNothing(in Input) []finding.Finding {
	out := checksWithoutDoubt(in)
	known, assessed, tested, unapplied, inert := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]Object{}, map[string]Object{}
	for _, name := range in.Empty {
		known[name] = true
	}
	for _, o := range in.Objects {
		known[o.Component] = true
		assessed[o.Component] = assessed[o.Component] || o.Health != "" && o.Inert == ""
		if _, first := inert[o.Component]; !first && o.Inert != "" && o.Inert != Idle {
			inert[o.Component] = o
		}
		tested[o.Component] = tested[o.Component] || o.HelmTest
	}
	for _, o := range slices.Backward(in.Unapplied) { // so that the first counts
		known[o.Component], unapplied[o.Component] = true, o
	}
	for i := range in.Components {
		c := &in.Components[i]
		if c.HelmTest && c.Enabled && known[c.Name] && !tested[c.Name] && !slices.Contains(in.Unrendered, c.Name) {
			out = append(out, finding.Finding{
				Rule: RuleSmokeTestsNothing, Severity: finding.Error, Scope: finding.Rule, Component: c.Name, Position: c.At("smoke.helmTest"), Basis: finding.Rendered,
				Message: c.Name + " asks for the Helm tests of its chart, which has none: nothing is tested",
				Fix:     finding.Fix{Summary: "add a test to the chart, or checks: smoke: [{endpoint: {service: <name>}}]"},
			})
			continue
		}
		if c.Type != model.Smoke || !c.Enabled || len(c.Smoke) > 0 || !known[c.Name] || assessed[c.Name] || slices.Contains(in.Unrendered, c.Name) {
			continue
		}
		severity := finding.Error
		if _, declared := c.Fields["componentType"]; !declared {
			severity = finding.Warning // that it is a smoke is inferred
		}
		f := finding.Finding{
			Rule: RuleSmokeTestsNothing, Severity: severity, Scope: finding.Rule, Component: c.Name, Position: c.At("componentType"), Basis: finding.Rendered,
			Message: c.Name + " is a smoke that applies nothing which could fail: it is Healthy at once",
			Fix:     finding.Fix{Summary: "add a Job that tests, or checks: smoke: [{endpoint: {service: <name>}}]"},
		}
		if o, ok := unapplied[c.Name]; ok {
			f.Message = fmt.Sprintf("%s is a smoke whose %s is a hook that Argo CD does not run in a sync: it is Healthy at once", c.Name, o.Resource.Human())
			if o.HelmTest {
				f.Fix.Summary = "have it run after the sync: smoke: {helmTest: true}; or write checks: smoke: [{endpoint: {service: <name>}}]"
			}
			f.Evidence = []finding.Evidence{{Text: o.Resource.Human() + " is not applied", File: o.Position.File, Line: o.Position.Line}}
		} else if o, ok := inert[c.Name]; ok {
			f.Message = fmt.Sprintf("%s is a smoke whose %s can never fail: %s", c.Name, o.Resource.Human(), o.Inert)
			f.Fix.Summary = "make it a Job, which runs in the sync"
			if o.Inert == EndsWell {
				f.Fix.Summary = "let the command fail when its test does"
			}
			does := map[Inert]string{EndsWell: " always ends with 0", Suspended: " is suspended", Scheduled: " runs by its schedule"}[o.Inert]
			f.Evidence = []finding.Evidence{{Text: o.Resource.Human() + does, File: o.Position.File, Line: o.Position.Line}}
		}
		out = append(out, f)
	}
	return out
}

// checksWithoutDoubt finds CEL checks that are true whatever they look at, where that is
// there in any case: an expression that is always true may ask whether an object is there,
// which somebody else makes.
func checksWithoutDoubt(in Input) []finding.Finding {
	var out []finding.Finding
	for i := range in.Components {
		c := &in.Components[i]
		if !c.Enabled {
			continue
		}
		for _, check := range c.Smoke {
			if check.Kind == model.CheckCEL && in.Certain[check.Expression] && isApplied(in.Objects, check) {
				out = append(out, finding.Finding{
					Rule: RuleSmokeTestsNothing, Severity: finding.Error, Scope: finding.Rule, Component: c.Name, Position: check.Position, Basis: finding.Declared,
					Message: fmt.Sprintf("the check %s of %s can never fail: its expression is true whatever it looks at", check, c.Name),
					Fix:     finding.Fix{Summary: fmt.Sprintf("ask for something of the %s: its status, a field, or how many there are", check.Variable())},
				})
			}
		}
	}
	return out
}

// isApplied reports whether the platform applies what a check looks at, or one of its kind
// where it looks at all of them.
func isApplied(objects []Object, check model.Check) bool {
	return slices.ContainsFunc(objects, func(o Object) bool {
		r := o.Resource
		return r.Group == check.Group && r.Kind == check.ObjectKind && (check.Name == "" || r.Name == check.Name && (r.Namespace == "" || r.Namespace == check.Namespace))
	})
}
