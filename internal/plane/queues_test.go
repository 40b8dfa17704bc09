package plane_test

import (
	"testing"

	"k8s.io/client-go/util/workqueue"
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // it has a provider too

	"github.com/rollout-ladder/ladder/internal/plane/quiet"
)

// The first provider of the queues' metrics wins, and a control plane has that of
// component-base as well.
func TestQueuesAreCounted(t *testing.T) {
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "test"})
	defer queue.ShutDown()
	before := quiet.Activity()
	queue.Add("a")
	if quiet.Activity() == before {
		t.Error("an item of a work queue is not counted")
	}
}
