package executor

import (
	"context"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Engine applies components and reports their health. It holds no order of its
// own between components.
type Engine interface {
	// Sync applies one component at the rollout's revision and returns when the
	// last object is applied and every hook has finished; health afterwards is
	// reported by Watch. It is safe to call again for a component that was
	// partly or wholly applied. Syncs of different components run concurrently.
	// The error names the object it is about where there is one (*ObjectError).
	Sync(ctx context.Context, component string) error
	// Remove deletes everything of a component that the rollout lacks and an
	// earlier one applied, in reverse of the order in which it was applied, and
	// returns when all of it was observed gone. left are objects that ask to be
	// kept. It is safe to call again for a component that is partly or wholly
	// gone. While it goes on, Watch reports with Health Progressing what it waits
	// for. It refuses, before it deletes anything, with an *ObjectError that is
	// Final what would take objects of another component along.
	Remove(ctx context.Context, component string) (left []finding.Resource, err error)
	// Watch reports the health of every component whenever it changes, first
	// its current one, until ctx ends. It calls sink from one goroutine.
	Watch(ctx context.Context, sink func(Observation)) error
}

// Observation is what an engine saw of one component.
type Observation struct {
	Component string
	Health    rollout.Health
	// Revision is the revision whose objects were seen; empty when the
	// component has never been applied.
	Revision string
	// Object is the worst object, the one that explains the health.
	Object finding.Resource
	// Message says why, in the words of the object: "Deployment db: 0 of 1
	// ready; pod db-0: CreateContainerConfigError: secret \"db\" not found".
	Message string
	// Final says that the health does not change by itself, as that of a Job
	// that used up its attempts.
	Final bool
	At    time.Time
}

// ObjectError is a sync or a removal that failed at one object.
type ObjectError struct {
	Object  finding.Resource
	Message string
	// Final errors are not helped by a retry.
	Final bool
}

// Error implements error.
func (e *ObjectError) Error() string { return e.Object.Human() + ": " + e.Message }
