package plan

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// worthwhile is the least share of a step's expected time that another maxUpdate
// must save to be proposed.
const worthwhile = 0.05

// limitChanges proposes, for every step that its maxUpdate slows down, the least
// one that does not.
func (p *Plan) limitChanges() []LimitChange {
	var all []LimitChange
	for k, s := range p.Steps {
		if s.Limit <= 0 || len(s.Phases) == 0 {
			continue // no limit, or started by hand
		}
		var members []int
		for _, name := range s.Components {
			members = append(members, p.graph.number[name])
		}
		now, best := p.graph.stepTime(members, p.graph.limits[k]), p.graph.stepTime(members, len(members))
		if float64(now-best) <= worthwhile*float64(now) {
			continue
		}
		least := len(members)
		for least > s.Limit+1 && p.graph.stepTime(members, least-1) == best {
			least--
		}
		all = append(all, LimitChange{Label: s.Label, Phases: s.Phases, From: s.MaxUpdate, To: strconv.Itoa(least), Saves: now - best})
	}
	return all
}

// stepTime is the expected time of components that run together, limit at a time,
// the longest chain of work first.
func (g *graph) stepTime(members []int, limit int) time.Duration {
	inside := make(map[int]bool, len(members))
	for _, i := range members {
		inside[i] = true
	}
	tail := make(map[int]time.Duration, len(members)) // longest chain that begins here
	unmet := make(map[int]int, len(members))
	for k := len(members) - 1; k >= 0; k-- { // members are in the order of the gates
		i := members[k]
		for _, d := range g.gates.Dependants(i) {
			if inside[int(d)] {
				tail[i] = max(tail[i], tail[int(d)])
				unmet[int(d)]++
			}
		}
		tail[i] += g.duration[i]
	}
	var ready []int
	for _, i := range members {
		if unmet[i] == 0 {
			ready = append(ready, i)
		}
	}
	running := map[int]time.Duration{}
	var now time.Duration
	for len(ready) > 0 || len(running) > 0 {
		slices.SortFunc(ready, func(a, b int) int { return cmp.Or(cmp.Compare(tail[b], tail[a]), cmp.Compare(a, b)) })
		for len(ready) > 0 && len(running) < limit {
			running[ready[0]] = now + g.duration[ready[0]]
			ready = ready[1:]
		}
		first := true
		for _, at := range running {
			if first || at < now {
				now, first = at, false
			}
		}
		for _, i := range members {
			if at, ok := running[i]; ok && at == now {
				delete(running, i)
				for _, d := range g.gates.Dependants(i) {
					if !inside[int(d)] {
						continue
					}
					if unmet[int(d)]--; unmet[int(d)] == 0 {
						ready = append(ready, int(d))
					}
				}
			}
		}
	}
	return now
}
