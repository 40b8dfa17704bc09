package rehearse

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/run/session"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
)

// Options say what is rehearsed and how.
type Options struct {
	// Path is the platform: its root, or a folder below it.
	Path string
	Load analysis.Options

	// Engine is EngineNative, which the empty text means too, or EngineArgoCD.
	Engine string
	// ArgoCD is the binary with the controllers of Argo CD, for EngineArgoCD.
	ArgoCD string
	// Drive has Ladder sync the Applications of Argo CD one by one in the order of
	// Policy, instead of following Argo CD's own order.
	Drive bool
	// Verbose has Argo CD log what it does, in the folder of the plane.
	Verbose bool

	Policy    rollout.Policy
	OnFailure rollout.FailurePolicy
	// Speed divides simulated delays, retries and timeouts; 0 skips the time in which
	// nothing happens.
	Speed float64
	Seed  int64
	// Jitter spreads the simulated delays, 0 to 1; 0 makes them as expected.
	Jitter float64
	// LeastTimeout is the least readiness timeout of a component in real time: a
	// correct ladder must not fail on a slow machine because its timeouts were
	// divided by the speed. Where time is skipped it is for how long nothing may have
	// changed before a timeout is skipped to.
	LeastTimeout time.Duration
	// Faults by component name.
	Faults map[string]settings.Fault
	// Durations override the expected time of components, by name.
	Durations map[string]time.Duration
	// MaxInFlight caps the components in flight; 0 means the ladder's.
	MaxInFlight int
	// Timeout bounds the whole rehearsal; 0 means no bound.
	Timeout time.Duration
	// AllowUnrendered lets a rehearsal succeed in which components that cannot be
	// rendered stand in as empty ones.
	AllowUnrendered bool

	// Plane is the name of a kept plane to run on; empty means a throwaway one.
	Plane string
	// Keep leaves the plane running.
	Keep bool
	// Resume takes up the rollout that was interrupted on the plane; Fresh
	// forgets it.
	Resume, Fresh bool
	// Flags are the words of the command line that make a rehearsal that goes on with
	// this one what it was. They are kept with the plane, for people.
	Flags []string

	// Check may refuse what is planned before anything is rolled out; nil refuses
	// nothing.
	Check func(*plan.Plan) error
	// Control carries what people ask for while the rollout runs: Pause, Resume,
	// Abort, Approve, Retry. nil carries nothing.
	Control <-chan rollout.Event

	Observer session.Observer
	Now      func() time.Time
}

// skips reports whether the time in which nothing happens is skipped.
func (o Options) skips() bool { return o.Speed == 0 }

// scale divides the times that are told.
func (o Options) scale() float64 { return cmp.Or(o.Speed, 1) }

func (o Options) smokeInterval() time.Duration {
	if o.skips() {
		return smokeInterval
	}
	return leastSmokeInterval
}

// logLevel is that of Argo CD's controllers.
func (o Options) logLevel() string {
	if o.Verbose {
		return "info"
	}
	return "warn"
}

// piece is what is performed.
func (o Options) piece() session.Piece {
	return session.Piece{
		Path: o.Path, Load: o.Load, Policy: o.Policy, Durations: o.Durations, MaxInFlight: o.MaxInFlight,
		AllowUnrendered: true, Named: slices.Collect(maps.Keys(o.Faults)), Check: o.Check,
	}
}
