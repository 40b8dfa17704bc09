package controlplane

import (
	"context"
	"fmt"
	"runtime/metrics"
	"time"
)

// memoryPeriod is how often the memory of the process is looked at. A platform that
// asks for a million pods makes some ten megabytes of them in that time.
const memoryPeriod = 100 * time.Millisecond

// MemoryError says that a plane took more memory than it may.
type MemoryError struct{ Limit uint64 }

// Error implements error.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("it took more memory than the %d MiB that a control plane may: the platform has more or larger objects than can be rehearsed", e.Limit>>20)
}

// boundMemory returns when the process takes more memory than limit, with a
// *MemoryError, or when ctx ends. Without a bound one number in a repository, that of
// replicas, takes all that the machine has.
func boundMemory(ctx context.Context, limit uint64) error {
	tick := time.NewTicker(memoryPeriod)
	defer tick.Stop()
	// What the runtime has of the system but for what it gave back.
	taken := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for {
		metrics.Read(taken)
		if taken[0].Value.Uint64()-taken[1].Value.Uint64() > limit {
			return &MemoryError{limit}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
