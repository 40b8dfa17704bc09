package engine

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// Many components at once: every one is reported Healthy at the revision.
func TestClusterManyComponents(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	const n = 200
	texts := map[string]string{"ns": "{apiVersion: v1, kind: Namespace, metadata: {name: NS}}"}
	components := []model.Component{{Name: "ns"}}
	for i := range n {
		name := fmt.Sprintf("many-%s-%03d", w.ns, i)
		components = append(components, model.Component{Name: name})
		texts[name] = fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%03d}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: s%03d}, spec: {ports: [{port: 80}]}}", i, i)
	}
	e := w.engine("r1", texts, components...)
	e.config.Run = w.ns
	seen := w.watch(e)
	mustSync(t, ctx, e, "ns")
	began := time.Now()
	var group sync.WaitGroup
	for _, c := range components[1:] {
		group.Go(func() {
			if err := e.Sync(ctx, c.Name); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	t.Logf("%d syncs in %s", n, time.Since(began))
	seen.until(t, ctx, "all healthy", func(all map[string]executor.Observation) bool {
		for _, c := range components {
			if all[c.Name].Health != rollout.Healthy || all[c.Name].Revision != "r1" {
				return false
			}
		}
		return true
	})
}
