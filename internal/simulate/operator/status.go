package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// writeStatus patches the status when it is not what was written last. Nothing
// to write leaves the object alone.
func (w *work) writeStatus(ctx context.Context, status map[string]any) error {
	if len(status) == 0 {
		return nil
	}
	old, _ := w.self.Object["status"].(map[string]any)
	complete(status, old, w.self.GetGeneration(), time.Now())
	if !w.kind.hasStatus {
		dropGenerations(status)
	}
	if contains(old, status) {
		return nil
	}
	// What an earlier report said and this one does not, no longer holds.
	for _, k := range w.memory.statusKeys {
		if _, said := status[k]; !said && old[k] != nil {
			status[k] = nil
		}
	}
	w.memory.statusKeys = slices.Sorted(maps.Keys(status))
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": w.self.GetUID()}, "status": status})
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	// An object whose schema drops a field is never what was written; then the
	// same patch is not sent again.
	if sent := w.self.GetResourceVersion() + string(text); sent == w.memory.lastStatus {
		return nil
	}
	var client dynamic.ResourceInterface = w.engine.world.Dynamic.Resource(w.kind.gvr)
	if w.kind.namespaced {
		client = w.engine.world.Dynamic.Resource(w.kind.gvr).Namespace(w.self.GetNamespace())
	}
	var sub []string
	if w.kind.hasStatus {
		sub = []string{"status"}
	}
	after, err := client.Patch(ctx, w.self.GetName(), types.MergePatchType, text, metav1.PatchOptions{FieldManager: fieldManager}, sub...)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or made anew: its own event follows
	}
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	w.memory.lastStatus = after.GetResourceVersion() + string(text)
	return nil
}

// dropGenerations removes observedGeneration. Where the kind has no status subresource, writing the status
// makes a new generation: it would never be that of the object, and be written again and again.
func dropGenerations(status any) {
	switch v := status.(type) {
	case map[string]any:
		delete(v, "observedGeneration")
		for _, below := range v {
			dropGenerations(below)
		}
	case []any:
		for _, below := range v {
			dropGenerations(below)
		}
	}
}

// complete adds to conditions what a controller adds: when they changed last,
// and for which generation they hold.
func complete(status, old map[string]any, generation int64, now time.Time) {
	for key, value := range status {
		switch v := value.(type) {
		case map[string]any:
			before, _ := old[key].(map[string]any)
			complete(v, before, generation, now)
		case []any:
			before, _ := old[key].([]any)
			if key == "conditions" {
				completeConditions(v, before, generation, now)
				continue
			}
			for i, item := range v {
				item, ok := item.(map[string]any)
				if !ok {
					continue
				}
				var beforeItem map[string]any
				if i < len(before) {
					beforeItem, _ = before[i].(map[string]any)
				}
				complete(item, beforeItem, generation, now)
			}
		}
	}
}

func completeConditions(conditions, old []any, generation int64, now time.Time) {
	for _, c := range conditions {
		c, ok := c.(map[string]any)
		if !ok {
			continue
		}
		if _, given := c["observedGeneration"]; !given {
			c["observedGeneration"] = generation
		}
		c["lastTransitionTime"] = now.UTC().Format(time.RFC3339)
		for _, o := range old {
			o, ok := o.(map[string]any)
			if ok && o["type"] == c["type"] && o["status"] == c["status"] && o["lastTransitionTime"] != nil {
				c["lastTransitionTime"] = o["lastTransitionTime"]
			}
		}
	}
}

// contains reports whether everything of want is in have.
func contains(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range want {
			if !contains(have[k], v) {
				return false
			}
		}
		return true
	case []any:
		have, ok := have.([]any)
		if !ok || len(have) != len(want) {
			return false
		}
		for i := range want {
			if !contains(have[i], want[i]) {
				return false
			}
		}
		return true
	default:
		return fmt.Sprint(have) == fmt.Sprint(want)
	}
}
