package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// DefaultMaxInFlight caps the components in flight under the policy edges where
// neither the ladder nor the caller says anything else.
const DefaultMaxInFlight = 10

// Input is what a plan is made from.
type Input struct {
	Environment string
	// Components in any order; disabled ones keep their place in the inventory
	// and are not planned.
	Components []model.Component
	Ladder     Ladder
	// Only are the environments of a component that not every one has, by name; nil
	// where that is not known.
	Only map[string][]string
	// Edges between components; those that name a component which is not
	// planned are set aside in Plan.Unplanned.
	Edges  []Edge
	Policy rollout.Policy
	// Durations overrides the expected time from start to Healthy per component;
	// else Ladder.Durations by type counts, else DefaultDuration.
	Durations map[string]time.Duration
	// MaxInFlight caps the components in flight under the policy edges; 0 means
	// Ladder.MaxInFlight, and if that is 0 as well DefaultMaxInFlight.
	MaxInFlight int
	// unphased has descriptors without a phase stand before all steps, so that a place can
	// be found for them.
	unphased bool
}

// Plan is the order of one environment under one policy.
type Plan struct {
	Environment string
	Policy      rollout.Policy
	// Only is that of the input.
	Only map[string][]string
	// Order holds the planned components, providers before consumers as far as
	// the policy gates on it.
	Order []string
	// Steps in the order in which they run; only those that have components,
	// disabled ones counted, or that the ladder file defines.
	Steps []Step
	// Edges are the requirements between planned components, without Dropped,
	// sorted by consumer, provider, strength, reason.
	Edges []Edge
	// Against are those of Edges whose provider stands in a later step than
	// their consumer. They gate under the policy edges only. Who judges them may make
	// them softer than they are among Edges.
	Against []Edge
	// Reversed are requirements outside of Edges that nothing can keep, because Flux applies the
	// consumer first. Who judges the order sets them.
	Reversed []Edge
	// Dropped are the soft edges left out because they would close a cycle.
	Dropped []Edge
	// Unplanned are the edges with an end that is disabled, unplaced or unknown.
	Unplanned []Edge
	// Cycles of hard edges, each named whole: the first component, which is the
	// least by name, is repeated at the end.
	Cycles [][]string
	// Judged are the findings of lint about them; nil where the policy goes by edges, which
	// starts none of their components, and where nobody has judged them.
	Judged []finding.Finding
	// Unplaced are the enabled components that no step matches. RollingSync
	// never syncs them, and they are not planned.
	Unplaced []string
	// Phaseless are those of Unplaced that have no phase.
	Phaseless []string
	// CriticalPath is the longest chain of expected work through the gates of
	// the policy, limits aside.
	CriticalPath Path
	// Schedule is the expected course under the policy with its limits, in the
	// order of the starts.
	Schedule []Span
	// Makespan is when the last component of Schedule is Healthy.
	Makespan time.Duration
	// Bound is a lower bound of every makespan under the policy; see Bound in
	// the package documentation.
	Bound time.Duration

	graph *graph
}

// Pairs counts the pairs of components that edges join: one may need another for
// several reasons.
func Pairs(edges ...[]Edge) int {
	pairs := map[[2]string]bool{}
	for _, e := range slices.Concat(edges...) {
		if e.From != e.To {
			pairs[[2]string{e.From, e.To}] = true
		}
	}
	return len(pairs)
}

// Step is one step of a plan.
type Step struct {
	Index  int    // from 1
	Label  string // "150", "(10,30)", "pre"; several phases are joined by ","
	Phases []model.Phase
	// Set is the tier the step belongs to.
	Set string
	// MaxUpdate is as written: "3", "25%", "0"; "" means no limit.
	MaxUpdate string
	// Limit is MaxUpdate as a number of components: 0 no limit, negative by hand.
	Limit int
	About
	// Components are the planned components in order; Disabled those that only
	// keep their place.
	Components []string
	Disabled   []string
}

// Path is a chain of components, each waiting for the one before.
type Path struct {
	Components []string
	Duration   time.Duration
}

// Span is the expected course of one component, from the start of the rollout.
type Span struct {
	Component  string
	Start, End time.Duration
}

// SpecOptions are the choices of one rollout that the platform does not make.
type SpecOptions struct {
	Revision  string
	OnFailure rollout.FailurePolicy // default: halt
	// Speed divides timeouts and backoffs; 0 means 1.
	Speed float64
	// TimeoutFloor is the least timeout of a component after the division.
	TimeoutFloor time.Duration
	// Timeout bounds the whole rollout; it is not divided. 0 means no bound.
	Timeout time.Duration
	// MaxInFlight caps the components in flight over all steps. 0 means, under
	// the policy edges, the cap the plan was made with, else no cap.
	MaxInFlight int
	// MaxTimeouts bounds how many attempts of a component may end by their
	// timeout; 0 leaves it to the retry limit.
	MaxTimeouts int
	// DegradedGrace ends an attempt that stays Degraded for longer; it is
	// divided by Speed. 0 leaves it to the timeout.
	DegradedGrace time.Duration
	// Unrendered are the components that stand in as empty ones.
	Unrendered map[string]bool
}

// CycleError says that components require each other, so that none of them can
// ever start under the policy edges.
type CycleError struct{ Cycles [][]string }

// Error implements error.
func (e *CycleError) Error() string {
	parts := make([]string, len(e.Cycles))
	for i, c := range e.Cycles {
		parts[i] = strings.Join(c, " -> ")
	}
	return "components require each other: " + strings.Join(parts, "; ")
}

// PlaceError says that components have no place in the ladder.
type PlaceError struct{ Components []string }

// Error implements error.
func (e *PlaceError) Error() string {
	return "no step of the ladder matches " + strings.Join(e.Components, ", ") + "; ladder lint says of each what to do"
}

// DefaultDuration is the expected time from start to Healthy of a component of
// a type, where neither the ladder nor the caller knows better.
func DefaultDuration(t model.Type) time.Duration {
	switch t {
	case model.Namespaces:
		return time.Second
	case model.CRDs:
		return 5 * time.Second
	case model.Operator:
		return 45 * time.Second
	case model.Secrets, model.Config:
		return 10 * time.Second
	case model.Runtime:
		return 60 * time.Second
	case model.Bootstrap:
		return 30 * time.Second
	case model.Smoke:
		return 15 * time.Second
	default:
		return 30 * time.Second
	}
}
