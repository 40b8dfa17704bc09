package ladderfile

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// DefaultBands are the bands of a platform that names none.
func DefaultBands() []plan.Band {
	return []plan.Band{
		{Name: "prerequisites", From: 0, To: 99},
		{Name: "foundation", From: 100, To: 199},
		{Name: "data", From: 200, To: 299},
		{Name: "platform", From: 300, To: 399},
		{Name: "data-extended", From: 400, To: 499},
		{Name: "observability", From: 500, To: 599},
		{Name: "apps", From: 600, To: 699},
	}
}

// appsBand is the band whose runtimes are stateless and roll out wider.
const appsBand = "apps"

// appsRuntimes is the default maxUpdate of the runtimes of the band apps.
const appsRuntimes = 10

// DefaultSlots are the slots of every band, by offset.
func DefaultSlots() []plan.Slot {
	count := func(n int) plan.MaxUpdate { return plan.MaxUpdate{Count: n, Set: true} }
	return []plan.Slot{
		{Offset: 0, Types: []model.Type{model.Namespaces}, MaxUpdate: count(3)},
		{Offset: 10, Types: []model.Type{model.CRDs}, MaxUpdate: count(3)},
		{Offset: 20, Types: []model.Type{model.Operator}, MaxUpdate: count(2)},
		{Offset: 30, Types: []model.Type{model.Secrets}, MaxUpdate: count(4)},
		{Offset: 40, Types: []model.Type{model.Config}, MaxUpdate: count(4)},
		{Offset: 50, Types: []model.Type{model.Runtime}, MaxUpdate: count(6)},
		{Offset: 55, Types: []model.Type{model.Bootstrap}, MaxUpdate: count(2)},
		{Offset: 60, Types: []model.Type{model.Bootstrap}, MaxUpdate: count(2)},
		{Offset: 99, Types: []model.Type{model.Smoke}, MaxUpdate: count(2)},
	}
}

// DefaultDurations are the expected times from start to Healthy by type.
func DefaultDurations() map[model.Type]time.Duration {
	return map[model.Type]time.Duration{
		model.Namespaces: time.Second,
		model.CRDs:       5 * time.Second,
		model.Operator:   45 * time.Second,
		model.Secrets:    10 * time.Second,
		model.Config:     5 * time.Second,
		model.Runtime:    60 * time.Second,
		model.Bootstrap:  30 * time.Second,
		model.Smoke:      15 * time.Second,
	}
}

// The defaults of a component and of a rollout.
const (
	DefaultTimeout     = 10 * time.Minute
	DefaultMaxInFlight = 10

	defaultRetryLimit       = 5
	defaultRetryDuration    = 5 * time.Second
	defaultRetryFactor      = 2
	defaultRetryMaxDuration = 3 * time.Minute
)

func defaultRetry() model.Retry {
	limit := defaultRetryLimit
	return model.Retry{Limit: &limit, Duration: defaultRetryDuration, Factor: defaultRetryFactor, MaxDuration: defaultRetryMaxDuration}
}

// MaxUpdate is the default of a step that matches the phase: that of its slot,
// or of the nearest slot below it.
func MaxUpdate(p model.Phase, bands []plan.Band, slots []plan.Slot) plan.MaxUpdate {
	offset := int(p) % 100
	var best plan.Slot
	for _, s := range slots {
		if s.Offset <= offset {
			best = s
		}
	}
	runtime := slices.Contains(best.Types, model.Runtime)
	if band := bandOf(p, bands); runtime && band == appsBand {
		return plan.MaxUpdate{Count: appsRuntimes, Set: true}
	}
	return best.MaxUpdate
}

func bandOf(p model.Phase, bands []plan.Band) string {
	for _, b := range bands {
		if p >= b.From && p <= b.To {
			return b.Name
		}
	}
	return ""
}

// DeriveSteps makes one step per phase that components use, in order; in the
// layout tiers per tier and phase, in the order of the tiers.
func DeriveSteps(l plan.Ladder, components []model.Component) []plan.LadderStep {
	type key struct {
		set   string
		phase model.Phase
	}
	seen := map[key]bool{}
	var keys []key
	for _, c := range components {
		if c.Phase == model.NoPhase || c.PreArgo || len(c.Waves) > 0 {
			continue
		}
		k := key{phase: c.Phase}
		if l.Layout == plan.Tiers {
			k.set = c.Domain
		}
		if !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(SetIndex(l, a.set), SetIndex(l, b.set)), cmp.Compare(a.set, b.set), cmp.Compare(a.phase, b.phase))
	})
	steps := make([]plan.LadderStep, len(keys))
	for i, k := range keys {
		steps[i] = plan.LadderStep{Phases: []model.Phase{k.phase}, Set: k.set, MaxUpdate: MaxUpdate(k.phase, l.Bands, l.Slots)}
	}
	return steps
}

// SetIndex is the place of a tier in parent order; an unknown one is last.
func SetIndex(l plan.Ladder, set string) int {
	if i := slices.Index(l.Sets, set); i >= 0 {
		return i
	}
	return len(l.Sets)
}
