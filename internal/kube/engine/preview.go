package engine

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Difference is what a sync would do to one object.
type Difference struct {
	Object finding.Resource
	// Action is create, change, keep, delete, or run for a hook.
	Action string
	// Fields are the paths that would change, without their values.
	Fields []string
	// Message says what could not be told, or why the API server refuses the
	// object (Refused).
	Message string
	Refused bool
}

// Preview asks the API server what a sync of a component would do, by dry runs
// that change nothing. The objects are in the order of the sync; what is pruned
// comes last.
func (e *Engine) Preview(ctx context.Context, name string) ([]Difference, error) {
	if err := e.loadInventories(ctx); err != nil {
		return nil, err
	}
	c := e.components[name]
	if c == nil {
		return nil, fmt.Errorf("there is no component %s", name)
	}
	var out []Difference
	for _, t := range c.tasks {
		d, err := e.previewOne(ctx, c, t)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	for _, i := range stale(c.getInventory().Objects, items(c.tasks)) {
		out = append(out, Difference{Object: i.resource(), Action: "delete"})
	}
	return out, nil
}

func (e *Engine) previewOne(ctx context.Context, c *component, t *task) (Difference, error) {
	d := Difference{Object: t.resource, Action: "create"}
	m, err := e.lookup(ctx, t.object.GroupVersionKind())
	if Unserved(err) {
		d.Message = "its kind is not served yet"
		return d, nil
	}
	if err != nil {
		return d, objectError(t.resource, nil, err)
	}
	live, err := e.get(ctx, m, t.resource)
	if err != nil {
		return d, err
	}
	if t.hook {
		d.Action = "run"
		return d, nil
	}
	if t.adoptedIs(live) {
		d.Action = "keep"
		return d, nil
	}
	obj, err := e.desired(ctx, c, t, m)
	if err != nil {
		return d, err
	}
	var after *unstructured.Unstructured
	err = e.Try(ctx, func() (err error) {
		after, err = e.patch(ctx, t, obj, m, true)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return d, ctx.Err()
	case err != nil:
		d.Message, d.Refused = shorten(redact(reason(t.resource, err), obj)), dryRunVerdict(err)
		if live != nil {
			d.Action = "change"
		}
		if missingNamespace(err) || apierrors.IsNotFound(err) {
			d.Message = "its namespace does not exist yet"
		}
		return d, nil
	case live != nil:
		d.Fields = changedFields(live, after)
		d.Action = "change"
		if len(d.Fields) == 0 {
			d.Action = "keep"
		}
	}
	return d, nil
}

// changedFields are the paths in which two states of an object differ, apart from
// what the API server and Ladder note in every write.
func changedFields(before, after *unstructured.Unstructured) []string {
	a, b := essence(before), essence(after)
	var fields []string
	diffValues("", a, b, &fields)
	slices.Sort(fields)
	return fields
}

func essence(obj *unstructured.Unstructured) map[string]any {
	clone := obj.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
		unstructured.RemoveNestedField(clone.Object, "metadata", field)
	}
	for _, annotation := range []string{ComponentAnnotation, RevisionAnnotation, runAnnotation} {
		unstructured.RemoveNestedField(clone.Object, "metadata", "annotations", annotation)
	}
	if len(clone.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(clone.Object, "metadata", "annotations")
	}
	delete(clone.Object, "status")
	return clone.Object
}

// diffValues collects the paths that differ; of lists only that they do, since
// the places of their items say little.
func diffValues(path string, a, b any, fields *[]string) {
	left, isMap := a.(map[string]any)
	right, areMaps := b.(map[string]any)
	if !isMap || !areMaps {
		if !reflect.DeepEqual(a, b) {
			*fields = append(*fields, path)
		}
		return
	}
	keys := map[string]bool{}
	for k := range left {
		keys[k] = true
	}
	for k := range right {
		keys[k] = true
	}
	for k := range keys {
		below := k
		if strings.Contains(k, ".") {
			below = fmt.Sprintf("[%s]", k)
		}
		if path != "" {
			below = path + "." + below
		}
		diffValues(below, left[k], right[k], fields)
	}
}
