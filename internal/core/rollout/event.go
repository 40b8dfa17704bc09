package rollout

import (
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Event is something that happened to a rollout. Events may come late, twice or
// out of order: what no longer applies changes nothing.
type Event interface{ event() }

// Started begins the rollout. It is the first event of a new rollout.
type Started struct{}

// Recovered says that the process which ran the rollout is gone and another one
// took over with the persisted state. What was syncing is synced again; what
// was applied waits for its health; what was Healthy opens no gate until it is
// observed again. A rollout that had not started starts.
type Recovered struct{}

// Tick says that time has passed. It is due at the time of the last WakeAt
// effect; earlier and later ones do no harm.
type Tick struct{}

// SyncFinished reports the end of the attempt that a Sync effect asked for.
type SyncFinished struct {
	Component string
	Attempt   int
	// Error is empty when every object is applied and every hook has finished.
	Error string
	// Object is the object the error is about, if there is one.
	Object finding.Resource
	// Final says that a retry does not help.
	Final bool
}

// RemoveFinished reports the end of the attempt that a Remove effect asked for.
type RemoveFinished struct {
	Component string
	Attempt   int
	// Left are objects that were left in the cluster because they ask for it.
	Left []finding.Resource
	// Error is empty when everything else of the component was observed gone.
	Error string
	// Object is the object the error is about, if there is one.
	Object finding.Resource
	// Final says that a retry does not help.
	Final bool
}

// Observed reports the health of a component, or what a removal waits for. An engine reports it whenever it
// changes, and all of them when it begins to watch.
type Observed struct {
	Component string
	Health    Health
	// Revision is the revision whose objects were seen: the rollout's own only
	// when every object of the component was seen at it.
	Revision string
	// Object is the worst object, the one that explains the health.
	Object  finding.Resource
	Message string
	// Final says that the health does not change by itself, as that of a Job
	// which used up its attempts: the attempt ends without waiting for the
	// timeout.
	Final bool
	// At is when it was seen; zero means the time of the event. An observation
	// older than the last one of the same component is dropped.
	At time.Time
}

// Pause starts nothing more until Resume; what is in flight goes on.
type Pause struct{ By string }

// Resume ends a pause. After an abort it takes the rollout up again, without
// applying again what was applied.
type Resume struct{}

// Abort ends the rollout; syncs in flight are cancelled.
type Abort struct{ By string }

// TimeUp ends the rollout as timed out: it was allowed the time After.
type TimeUp struct{ After time.Duration }

// Approve lets a step that waits for approval start. Step is an index into
// Spec.Steps.
type Approve struct {
	Step int
	// By is who approves it, Reason why.
	By, Reason string
}

// Retry gives a component that failed, timed out or waits for its next attempt
// a fresh start, also in a rollout that has ended; an empty name means every
// one that failed.
type Retry struct{ Component string }

func (Started) event()        {}
func (Recovered) event()      {}
func (Tick) event()           {}
func (SyncFinished) event()   {}
func (RemoveFinished) event() {}
func (Observed) event()       {}
func (Pause) event()          {}
func (Resume) event()         {}
func (Abort) event()          {}
func (TimeUp) event()         {}
func (Approve) event()        {}
func (Retry) event()          {}

// Effect is something the driver must do. It is carried out after the Change
// of the same Update was persisted.
type Effect interface{ effect() }

// Sync asks for one attempt to apply a component; the answer is SyncFinished
// with the same Attempt. The driver lets an earlier attempt of the same
// component return first.
type Sync struct {
	Component string
	Attempt   int
}

// Remove asks for one attempt to delete everything of a component; the answer
// is RemoveFinished with the same Attempt.
type Remove struct {
	Component string
	Attempt   int
}

// Cancel ends the attempt early. Its SyncFinished or RemoveFinished is no longer
// waited for.
type Cancel struct {
	Component string
	Attempt   int
}

// WakeAt asks for a Tick at a time. It replaces the one before; a zero time
// means that nothing is due. Fails is set where something is given up then.
type WakeAt struct {
	At    time.Time
	Fails bool
}

// Finish says that the rollout has ended.
type Finish struct {
	Result  Result
	Message string
}

func (Sync) effect()   {}
func (Remove) effect() {}
func (Cancel) effect() {}
func (WakeAt) effect() {}
func (Finish) effect() {}
