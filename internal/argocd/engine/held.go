package engine

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
)

// Held is an Application, or an ApplicationSet with RollingSync, as Prepare would
// leave it for a run. What is made like this waits for its turn from its first
// moment, where Prepare would come after the controllers; Release of the run gives
// it what it was. An object that starts nothing by itself is returned as it is.
func Held(object *unstructured.Unstructured, run string) (*unstructured.Unstructured, error) {
	made := object.DeepCopy()
	record := hold{Run: run}
	var err error
	switch made.GetKind() {
	case "Application":
		var a *status.Application
		if a, err = status.Parse(made); err != nil || !a.SyncPolicy.IsAutomated() {
			return made, err
		}
		record.Automated = a.SyncPolicy.Automated
		field := []string{"spec", "syncPolicy"}
		if withoutAutomated(a.SyncPolicy) != nil {
			field = append(field, "automated")
		}
		unstructured.RemoveNestedField(made.Object, field...)
	case "ApplicationSet":
		var s *status.Set
		if s, err = status.ParseSet(made); err != nil || s.Stopped() {
			return made, err
		}
		if !s.Rolling {
			return nil, fmt.Errorf("hold %s: without RollingSync its Applications cannot be held before they are made", s.Resource().Human())
		}
		steps := make([]any, 0, len(s.Steps))
		for _, step := range stopped(s, &record) {
			steps = append(steps, step)
		}
		err = unstructured.SetNestedSlice(made.Object, steps, "spec", "strategy", "rollingSync", "steps")
	default:
		return made, nil
	}
	annotations := made.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[status.HeldAnnotation] = record.text()
	made.SetAnnotations(annotations)
	return made, err
}

// stopped are the steps of an ApplicationSet with nothing that may update; the
// record takes what they were.
func stopped(s *status.Set, record *hold) []map[string]any {
	steps := make([]map[string]any, 0, len(s.Steps))
	for _, step := range s.Steps {
		record.Steps = append(record.Steps, step.Written)
		copied := map[string]any{"maxUpdate": int64(0)}
		for k, v := range step.Written {
			if k != "maxUpdate" {
				copied[k] = v
			}
		}
		steps = append(steps, copied)
	}
	return steps
}
