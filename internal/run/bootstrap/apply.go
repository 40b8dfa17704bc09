package bootstrap

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/kube/engine"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// ObjectError is an object that could not be applied, or did not get ready.
type ObjectError struct {
	Object  finding.Resource
	Message string
	// Position is where the object is written, where that is known.
	Position finding.Position
}

// Error implements error.
func (e *ObjectError) Error() string {
	text := e.Object.Human() + ": " + e.Message
	if e.Position.File != "" {
		text = e.Position.String() + ": " + text
	}
	return text
}

// objectError words an error of the API server about an object, without what is
// in a Secret: that is quoted where a field of it is wrong.
func objectError(o manifest.Object, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*ObjectError)) {
		return err
	}
	message := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		message = cmp.Or(status.Status().Message, message)
		if o.GetKind() == "Secret" {
			message = secretProblem(status.Status())
		}
	}
	return &ObjectError{Object: o.Resource(), Message: message, Position: o.Origin.Position()}
}

// secretProblem words what is wrong with a Secret by its fields alone.
func secretProblem(status metav1.Status) string {
	if status.Reason == metav1.StatusReasonForbidden || status.Reason == metav1.StatusReasonNotFound {
		return status.Message // about names only
	}
	var fields []string
	if status.Details != nil {
		for _, c := range status.Details.Causes {
			if c.Field != "" {
				fields = append(fields, fmt.Sprintf("%s (%s)", c.Field, c.Type))
			}
		}
	}
	reason := cmp.Or(string(status.Reason), "an error")
	if len(fields) == 0 {
		return fmt.Sprintf("the API server refuses it: %s (%d)", reason, status.Code)
	}
	return fmt.Sprintf("the API server refuses it: %s: %s", reason, strings.Join(fields, ", "))
}

// maxConflicts bounds how often an object is read and applied again because it
// has changed in between.
const maxConflicts = 20

// apply brings one object to its desired state, unless somebody else looks after
// it. In a dry run it says what it would do.
func (r *run) apply(ctx context.Context, o manifest.Object, manager string) (report.BootstrapObject, error) {
	done := report.BootstrapObject{Object: o.Resource().Human()}
	if r.target == nil { // a dry run before the cluster is made
		done.Action = report.ObjectCreated
		return done, nil
	}
	client, err := r.client(ctx, o)
	if r.options.DryRun && engine.Unserved(err) {
		done.Action = report.ObjectCreated // with its CRD
		return done, nil
	}
	if err != nil {
		return done, objectError(o, err)
	}
	want := clean(o.Unstructured)
	if o.Target != "" && want.GetNamespace() == "" {
		want.SetNamespace(o.Target)
	}
	_, hook := manifest.SyncPhases(o.Unstructured)
	if hook {
		mark(want)
	}
	for range maxConflicts {
		live, err := r.target.Get(ctx, client, o.GetName())
		if err != nil {
			return done, objectError(o, err)
		}
		if live != nil {
			if by, adopted := adoptedBy(live); adopted {
				done.Action, done.By = report.ObjectAdopted, by
				return done, nil
			}
		}
		if hook && live != nil && o.GetKind() == "Job" {
			again, err := r.clearHook(ctx, client, live, want)
			if err != nil {
				return done, objectError(o, err)
			}
			if !again {
				done.Action = report.ObjectUnchanged
				return done, nil
			}
			live = nil
		}
		done.Action, err = r.put(ctx, client, want, live, manager)
		if apierrors.IsConflict(err) {
			continue
		}
		return done, objectError(o, err)
	}
	return done, &ObjectError{Object: o.Resource(), Message: "is changed all the time by somebody else", Position: o.Origin.Position()}
}

// put applies an object over the live one, which must not have changed since it
// was read: Argo CD may have adopted it in between.
func (r *run) put(ctx context.Context, client dynamic.ResourceInterface, want, live *unstructured.Unstructured, manager string) (action string, err error) {
	if live == nil {
		if r.options.DryRun {
			return report.ObjectCreated, nil
		}
		_, err := r.send(ctx, client, want, manager)
		return report.ObjectCreated, err
	}
	body := want.DeepCopy()
	body.SetResourceVersion(live.GetResourceVersion())
	body.SetUID(live.GetUID())
	after, err := r.send(ctx, client, body, manager)
	if err != nil {
		return "", err
	}
	if same(live, after) {
		return report.ObjectUnchanged, nil
	}
	return report.ObjectChanged, nil
}

// same compares two states of an object in what people mean by it.
func same(a, b *unstructured.Unstructured) bool {
	x, y := a.DeepCopy(), b.DeepCopy()
	for _, o := range []*unstructured.Unstructured{x, y} {
		for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		delete(o.Object, "status")
	}
	s, errS := json.Marshal(x.Object)
	t, errT := json.Marshal(y.Object)
	return errS == nil && errT == nil && string(s) == string(t)
}

// mark puts the digest of a hook on it.
func mark(o *unstructured.Unstructured) {
	text, err := json.Marshal(o.Object)
	if err != nil {
		return // it could not be sent either
	}
	sum := sha256.Sum256(text)
	annotations := o.GetAnnotations()
	annotations[digestAnnotation] = hex.EncodeToString(sum[:8])
	o.SetAnnotations(annotations)
}

// clearHook deletes the Job of an older hook, or of one that has failed: a Job
// cannot be changed. again is false where it runs or has run as it is wanted.
func (r *run) clearHook(ctx context.Context, client dynamic.ResourceInterface, live, want *unstructured.Unstructured) (again bool, err error) {
	sameHook := live.GetAnnotations()[digestAnnotation] == want.GetAnnotations()[digestAnnotation]
	if sameHook && !failedJob(live) {
		return false, nil
	}
	if r.options.DryRun {
		return true, nil
	}
	uid := live.GetUID()
	return true, r.target.Delete(ctx, client, live.GetName(), &uid, nil)
}

func failedJob(job *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == "Failed" && m["status"] == "True"
	})
}

// send applies an object server-side. One that says which version it is of is not
// sent again after a conflict: the version stays the wrong one.
func (r *run) send(ctx context.Context, client dynamic.ResourceInterface, obj *unstructured.Unstructured, manager string) (out *unstructured.Unstructured, err error) {
	options := metav1.ApplyOptions{FieldManager: manager, Force: true}
	if r.options.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	var conflict error
	err = r.target.Try(ctx, func() (err error) {
		if out, err = client.Apply(ctx, obj.GetName(), obj, options); apierrors.IsConflict(err) && obj.GetResourceVersion() != "" {
			conflict, err = err, nil
		}
		return err
	})
	return out, cmp.Or(err, conflict)
}

// client finds the client of an object. A kind that this run has applied the CRD
// of is waited for.
func (r *run) client(ctx context.Context, o manifest.Object) (dynamic.ResourceInterface, error) {
	gvk, patience := o.GroupVersionKind(), time.Duration(0)
	if r.crds[gvk.GroupKind()] && !r.options.DryRun {
		patience = servePatience
	}
	return r.target.Resource(ctx, gvk, cmp.Or(o.GetNamespace(), o.Target), patience)
}

// applyAll applies objects in the order of a sync, waits after each wave until it
// is ready, and at the end until all are. check looks at their health.
func (r *run) applyAll(ctx context.Context, s *report.BootstrapStage, objects []manifest.Object, manager string, check assess) error {
	ordered, places := inOrder(objects)
	if err := r.namespaces(ctx, s, ordered); err != nil {
		return err
	}
	for start := 0; start < len(ordered); {
		end := start + 1
		for end < len(ordered) && !places[start].Before(places[end]) {
			end++
		}
		for _, o := range ordered[start:end] {
			if crd, ok := manifest.ReadCRD(o.Unstructured); ok {
				r.crds[schema.GroupKind{Group: crd.Group, Kind: crd.Kind}] = true
			}
			done, err := r.apply(ctx, o, manager)
			if err != nil {
				return err
			}
			s.Objects = append(s.Objects, done)
		}
		if !r.options.DryRun {
			if err := r.ready(ctx, s, ordered[start:end], check); err != nil {
				return err
			}
		}
		start = end
	}
	return nil
}

// inOrder sorts objects as a sync of Argo CD applies them; what no sync applies
// is left out.
func inOrder(objects []manifest.Object) ([]manifest.Object, []manifest.SyncPlace) {
	all, applied := manifest.SyncPlaces(objects)
	var indexes []int
	for i := range objects {
		if applied[i] {
			indexes = append(indexes, i)
		}
	}
	slices.SortStableFunc(indexes, func(i, j int) int {
		return cmp.Or(cmp.Compare(all[i].Phase, all[j].Phase), cmp.Compare(all[i].Wave, all[j].Wave), cmp.Compare(all[i].Kind, all[j].Kind))
	})
	var out []manifest.Object
	var places []manifest.SyncPlace
	for _, i := range indexes {
		out, places = append(out, objects[i]), append(places, all[i])
	}
	return out, places
}

// landing are the namespaces that objects land in and that are not among them, sorted.
func landing(objects []manifest.Object) []string {
	wanted := map[string]bool{}
	for _, o := range objects {
		if ns := cmp.Or(o.GetNamespace(), o.Target); ns != "" {
			wanted[ns] = true
		}
	}
	for _, o := range objects {
		if o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1" {
			delete(wanted, o.GetName())
		}
	}
	return slices.Sorted(maps.Keys(wanted))
}

// namespaces makes the namespaces that objects land in and that neither exist nor
// are among them. They stay when the objects go.
func (r *run) namespaces(ctx context.Context, s *report.BootstrapStage, objects []manifest.Object) error {
	for _, name := range landing(objects) {
		made, err := r.namespace(ctx, name)
		if err != nil {
			return err
		}
		if made {
			s.Objects = append(s.Objects, report.BootstrapObject{Object: "Namespace " + name, Action: report.ObjectCreated})
		}
	}
	return nil
}

func newNamespace(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
}

// namespace makes one namespace where it does not exist, once for all stages.
func (r *run) namespace(ctx context.Context, name string) (made bool, err error) {
	if r.seen[name] {
		return false, nil
	}
	if r.target == nil {
		r.seen[name] = true
		return true, nil
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	live, err := r.get(ctx, gvk, "", name)
	if err != nil {
		return false, fmt.Errorf("look at namespace %s: %w", name, err)
	}
	if live != nil && live.GetDeletionTimestamp() != nil {
		return false, &ObjectError{Object: finding.Resource{Kind: "Namespace", Name: name}, Message: "is being deleted; run again when it is gone"}
	}
	r.seen[name] = true
	if live != nil || r.options.DryRun {
		return live == nil, nil
	}
	if made, err = r.create(ctx, newNamespace(name)); err != nil {
		return false, fmt.Errorf("make namespace %s: %w", name, err)
	}
	return made, nil
}
