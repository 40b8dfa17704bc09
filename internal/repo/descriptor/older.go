package descriptor

import (
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// olderRequires are the older names of requires.
var olderRequires = []string{"dependsOn", "dependencies", "depends_on", "needs"}

// ofOthers reports whether an older name of requires is the field of somebody else: it gives
// versions, as the dependencies of a chart do, or amounts.
func ofOthers(e yamldoc.Entry) bool {
	if e.Key == "dependsOn" || e.Key == "depends_on" {
		return false
	}
	versioned := func(v *yamldoc.Value) bool {
		return v.At("version") != nil || v.At("repository") != nil
	}
	return slices.ContainsFunc(e.Value.Items, versioned) || slices.ContainsFunc(e.Value.Entries, func(e yamldoc.Entry) bool {
		_, isBool := e.Value.Bool()
		return versioned(e.Value) || e.Value.Kind == yamldoc.Scalar && !isBool
	})
}

// shapeless reports an older name of requires that holds no names.
func (d *decoder) shapeless(e yamldoc.Entry) {
	is := e.Value.Kind.String()
	if e.Value.Kind == yamldoc.List {
		is = "a list of more than names"
	}
	const fix = "write requires: [<component>, ...]"
	d.report(RuleUnknown, e.Position, fmt.Sprintf("%s is %s, not a list of names of components, so that nothing of it is read; %s", e.Key, is, fix), fix)
	d.findings[len(d.findings)-1].Severity = finding.Warning
}
