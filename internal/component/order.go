package component

import "cmp"

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
//     both have one.
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
