package lint

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Off is the level of a rule that is not wanted.
const Off = "off"

// Options are the settings of a run. The zero value runs every rule.
type Options struct {
	// Rules that are run; nil means All.
	Rules []Rule
	// Only are the ids of the rules whose findings are wanted; empty means every
	// rule.
	Only []string
	// Levels override the severity of rules: "error", "warning", "info" or Off.
	Levels map[string]string
}

// wants reports whether the findings of a rule are wanted.
func (o Options) wants(rule string) bool {
	return o.Levels[rule] != Off && (len(o.Only) == 0 || slices.Contains(o.Only, rule))
}

// All lists every rule whose findings Ladder can make, sorted by id: those that
// Run judges, and those that are found on the way to it. Where both name a rule,
// the one that judges speaks.
func All() []Rule {
	all := Rules()
	for _, r := range elsewhere() {
		if !slices.ContainsFunc(all, func(o Rule) bool { return o.ID == r.ID }) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Run judges one environment: the findings of every wanted rule and those that
// were made on the way to in, each at its level, with one finding per root
// cause, sorted.
func Run(in Input, o Options) []finding.Finding {
	rules := o.Rules
	if rules == nil {
		rules = All()
	}
	in.order = newOrder(in)
	in.Ladder.Bands = followed(in)
	rules = slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Run == nil || !o.wants(r.ID) })
	found := slices.Concat(in.Findings, sideBySide(in, rules))
	if in.LeftOut != nil {
		found = append(found, in.LeftOut()...)
	}
	for i := range found {
		found[i].Environment = cmp.Or(found[i].Environment, in.Environment)
	}
	weaken(in.Components, found)
	settled := Settle(found, o)
	mend(in, settled)
	return settled
}

// weaken takes one level off what is found of components that rest on parameters which
// nobody wrote.
func weaken(components []model.Component, found []finding.Finding) {
	solved := map[string]bool{}
	for _, c := range components {
		solved[c.Name] = solved[c.Name] || c.Solved
	}
	lower := map[finding.Severity]finding.Severity{finding.Error: finding.Warning, finding.Warning: finding.Info}
	for i, f := range found {
		if to, ok := lower[f.Severity]; ok && solved[f.Component] {
			found[i].Severity = to
		}
	}
}

// sideBySide runs rules on all processors; their findings are in the order of the rules.
func sideBySide(in Input, rules []Rule) []finding.Finding {
	found := make([][]finding.Finding, len(rules))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(rules)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(rules); i = int(next.Add(1)) - 1 {
				found[i] = rules[i].Run(in)
			}
		})
	}
	workers.Wait()
	return slices.Concat(found...)
}

// Settle gives findings of any origin the levels of the settings, drops those
// that are not wanted, joins those of one root cause and sorts them.
func Settle(found []finding.Finding, o Options) []finding.Finding {
	kept := make([]finding.Finding, 0, len(found))
	for _, f := range found {
		if !o.wants(f.Rule) {
			continue
		}
		if level := o.Levels[f.Rule]; level != "" {
			f.Severity = finding.Severity(level)
		}
		f.Scope, f.Basis = cmp.Or(f.Scope, finding.Rule), cmp.Or(f.Basis, finding.Declared)
		kept = append(kept, f.Redacted())
	}
	kept = join(kept)
	finding.Sort(kept)
	return kept
}
