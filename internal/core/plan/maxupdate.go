package plan

import "strconv"

// String prints the limit as the ladder file has it: "3", "25%", or "" where
// nothing was written.
func (m MaxUpdate) String() string {
	switch {
	case !m.Set:
		return ""
	case m.Percent:
		return strconv.Itoa(m.Count) + "%"
	default:
		return strconv.Itoa(m.Count)
	}
}

// Limit is how many of size components may be in flight: 0 for no limit,
// negative for a step that is started by hand. A percentage is rounded down, to
// at least 1. Source: Argo CD, docs/operator-manual/applicationset/
// Progressive-Syncs.md.
func (m MaxUpdate) Limit(size int) int {
	switch {
	case !m.Set:
		return 0
	case m.Count <= 0:
		return -1
	case m.Percent:
		return max(size*m.Count/100, 1)
	default:
		return m.Count
	}
}
