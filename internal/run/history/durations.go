package history

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// Duration is how long a component took from start to Healthy, over several runs:
// multiplied by the speed of each.
type Duration struct {
	Component string        `json:"component"`
	Runs      int           `json:"runs"`
	Median    time.Duration `json:"-"`
	P90       time.Duration `json:"-"`
	Least     time.Duration `json:"-"`
	Most      time.Duration `json:"-"`
}

// Durations measures the components of the newest entry over all entries, sorted
// by name. gone are components that older entries have and the newest has not.
// Only attempts that became Healthy count. The entries are the newest first.
func Durations(entries []Entry) (known []Duration, gone []string) {
	if len(entries) == 0 {
		return nil, nil
	}
	there := map[string]bool{}
	for _, c := range entries[0].Report.Components {
		there[c.Name] = !c.Removal
	}
	taken := map[string][]time.Duration{}
	for _, e := range entries {
		for _, c := range e.Report.Components {
			if d, ok := took(c, speed(e)); ok {
				taken[c.Name] = append(taken[c.Name], d)
			}
		}
	}
	for name, all := range taken {
		if !there[name] {
			gone = append(gone, name)
			continue
		}
		slices.Sort(all)
		known = append(known, Duration{
			Component: name, Runs: len(all), Median: quantile(all, 0.5), P90: quantile(all, 0.9), Least: all[0], Most: all[len(all)-1],
		})
	}
	slices.Sort(gone)
	slices.SortFunc(known, func(a, b Duration) int { return strings.Compare(a.Component, b.Component) })
	return known, gone
}

func took(c report.RolloutComponent, speed float64) (time.Duration, bool) {
	started, healthy := time.Time(c.StartedAt), time.Time(c.HealthyAt)
	if c.Removal || !done(c) || started.IsZero() || healthy.Before(started) {
		return 0, false
	}
	return time.Duration(float64(healthy.Sub(started)) * speed).Round(time.Millisecond), true
}

// quantile is the value at a share of sorted values, by the nearest rank; the
// median of an even number is the mean of the middle two.
func quantile(sorted []time.Duration, share float64) time.Duration {
	n := len(sorted)
	if share == 0.5 && n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	rank := int(math.Ceil(share*float64(n))) - 1
	return sorted[min(max(rank, 0), n-1)]
}
