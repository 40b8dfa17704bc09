package model

import (
	"cmp"
	"strings"
)

const stepsOf = "ApplicationSet "

// AtSteps is the parent, in Component.Parents, of what stands in the RollingSync steps
// of an ApplicationSet: no Application has such a name.
func AtSteps(set string) string { return stepsOf + set }

const rootOf = "kustomization "

// AtRoot is the parent, in Component.Parents, of what a kustomization holds that somebody applies by
// hand beside others: kubectl knows no waves, so that those of two commands do not compare.
func AtRoot(folder string) string { return rootOf + folder + "/" }

// AtOverlay is the parent, in Component.Parents, of what the overlay holds that the ladder file names
// for an environment: one parent applies all of it, whoever that is.
const AtOverlay = "/"

// IsRoot reports whether a parent is a kustomization that somebody applies by hand.
func IsRoot(parent string) bool { return strings.HasPrefix(parent, rootOf) }

// StepsAt is the ApplicationSet whose RollingSync step an element of Waves is; ok is
// false for a sync wave.
func (c *Component) StepsAt(i int) (set string, ok bool) {
	if i >= len(c.Parents) {
		return "", false
	}
	return strings.CutPrefix(c.Parents[i], stepsOf)
}

// Parted are the ApplicationSets whose RollingSync steps stand among the waves of what
// their Applications apply, by name.
func Parted(components []Component) map[string]bool {
	parted := map[string]bool{}
	for i := range components {
		for at := range components[i].Waves {
			if set, ok := components[i].StepsAt(at); ok {
				parted[set] = true
			}
		}
	}
	return parted
}

// compareSteps orders what an ApplicationSet generates against what its parents apply.
func compareSteps(a, b *Component) int {
	at := len(a.Waves)
	if at >= len(b.Waves) || a.Set == "" || a.Step == 0 {
		return 0
	}
	if set, ok := b.StepsAt(at); !ok || set != a.Set {
		return 0
	}
	return cmp.Compare(a.Step, b.Waves[at])
}

// Compare orders two components of one environment by what Argo CD, or the
// ladder, does with them: -1 where a comes earlier, +1 where it comes later, 0
// where nothing orders the two.
//
//   - What is applied before Argo CD exists is before everything else.
//   - Paths of sync waves compare element by element, as long as the same parent
//     applies both: two parents of one wave sync at the same time, whatever the
//     waves below them. Where one path is the beginning of the other (a parent and
//     what it applies) there is no order.
//   - Two phases compare as numbers, unless two different ApplicationSets give
//     them: RollingSync orders inside one ApplicationSet only. A layout with
//     several parents of phases (tiers) is the caller's to order first.
//   - Components of one ApplicationSet compare by their RollingSync step, where
//     both have one; what a parent among them applies stands in the step of the
//     parent.
//
// The relation is not transitive where it says 0; it is no sort order.
func Compare(a, b *Component) int {
	if a.PreArgo || b.PreArgo {
		switch {
		case a.PreArgo && b.PreArgo:
			return 0
		case a.PreArgo:
			return -1
		default:
			return 1
		}
	}
	order, together := compareWaves(a, b)
	if order != 0 || !together {
		return order
	}
	if order := cmp.Or(compareSteps(a, b), -compareSteps(b, a)); order != 0 {
		return order
	}
	if a.Set != "" && b.Set != "" && a.Set != b.Set {
		return 0
	}
	if a.Set != "" && a.Set == b.Set && (a.Step > 0 || b.Step > 0) && len(a.Waves) == len(b.Waves) {
		if a.Step == 0 || b.Step == 0 {
			return 0 // one is in no step, and never synced
		}
		return cmp.Compare(a.Step, b.Step)
	}
	if a.Phase >= 0 && b.Phase >= 0 {
		return cmp.Compare(a.Phase, b.Phase)
	}
	return 0
}

// compareWaves orders two paths of sync waves. together is false where the paths
// part without an order: below different parents.
func compareWaves(a, b *Component) (order int, together bool) {
	for i := range min(len(a.Waves), len(b.Waves)) {
		if i < len(a.Parents) && i < len(b.Parents) && a.Parents[i] != b.Parents[i] {
			return 0, false
		}
		if order := cmp.Compare(a.Waves[i], b.Waves[i]); order != 0 {
			return order, true
		}
	}
	return 0, true
}
