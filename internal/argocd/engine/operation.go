package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
)

// Initiator is who the operations of this engine are initiated by.
const Initiator = "ladder"

// The infos that an operation of this engine carries.
const (
	InfoRun   = "ladder.rollout-ladder.dev/run"
	InfoToken = "ladder.rollout-ladder.dev/operation"
)

// isOurs reports whether an operation was started by this program, in this run or
// another.
func isOurs(o *status.Operation) bool {
	return o != nil && o.InitiatedBy.Username == Initiator && o.Value(InfoToken) != ""
}

// revisions are those to sync an Application to: the rollout's for sources of its
// repository, what is written for the others.
func (e *Engine) revisions(a *status.Application) []string {
	pinned := e.want.Pinned(a.Spec)
	var out []string
	for i, source := range a.AllSources() {
		target, _ := source["targetRevision"].(string)
		if slices.Contains(pinned, i) {
			target = e.config.Revision
		}
		out = append(out, target)
	}
	return out
}

// wants reports whether an operation is of this run and does what it would ask
// for now.
func (e *Engine) wants(a *status.Application, o *status.Operation) bool {
	if !isOurs(o) || o.Value(InfoRun) != e.config.Run || o.Sync == nil {
		return false
	}
	revisions := e.revisions(a)
	if a.MultiSource() {
		return slices.Equal(o.Sync.Revisions, revisions)
	}
	return len(revisions) == 1 && o.Sync.Revision == revisions[0]
}

// operation is the sync operation of an Application: its own sync options and
// retries. Retries stay at the revision: refresh, which has them take the newest
// one, is left out. Source: argo-cd, processRequestedAppOperation.
func (e *Engine) operation(a *status.Application, token string) map[string]any {
	sync := map[string]any{"prune": prunes(a)}
	revisions := e.revisions(a)
	if a.MultiSource() {
		sync["revisions"] = revisions
	} else if len(revisions) == 1 && revisions[0] != "" {
		sync["revision"] = revisions[0]
	}
	if len(a.SyncPolicy.SyncOptions) > 0 {
		sync["syncOptions"] = a.SyncPolicy.SyncOptions
	}
	op := map[string]any{
		"sync":        sync,
		"initiatedBy": map[string]any{"username": Initiator},
		"info": []map[string]any{
			{"name": "Reason", "value": "rollout of " + e.config.Revision},
			{"name": InfoRun, "value": e.config.Run},
			{"name": InfoToken, "value": token},
		},
	}
	if len(a.SyncPolicy.Retry) > 0 {
		retry := maps.Clone(a.SyncPolicy.Retry)
		delete(retry, "refresh")
		op["retry"] = retry
	}
	return op
}

// prunes reports whether a sync deletes what is not rendered any more: where the
// Application's automated sync does.
func prunes(a *status.Application) bool {
	if held, err := readHold(a.Ref.Resource(), a.Annotations); err == nil && held != nil {
		return status.SyncPolicy{Automated: held.Automated}.Prunes()
	}
	return a.SyncPolicy.Prunes()
}

// request asks for the sync of an Application as it was seen, and returns the
// Application as it is then and the token of the operation. It fails with a
// conflict where the Application has changed since.
func (e *Engine) request(ctx context.Context, a *status.Application) (*status.Application, string, error) {
	token := string(uuid.NewUUID())
	patch := map[string]any{
		"metadata":  map[string]any{"resourceVersion": a.ResourceVersion},
		"operation": e.operation(a, token),
		"status":    map[string]any{"operationState": nil},
	}
	asked, err := e.patch(ctx, a.Ref, patch)
	return asked, token, err
}

// terminate ends an operation of this program. One that the controller has not
// taken up is taken back.
func (e *Engine) terminate(ctx context.Context, a *status.Application) error {
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": a.ResourceVersion}}
	if a.Started() {
		patch["status"] = map[string]any{"operationState": map[string]any{"phase": status.Terminating}}
	} else {
		patch["operation"] = nil
	}
	_, err := e.patch(ctx, a.Ref, patch)
	return err
}

// refreshedAnnotation stands beside a request to compare again, with the run as its
// value, and goes with the release. Where that request is the only annotation, the
// controller takes it away by a patch that removes all annotations, with what was
// held in the meantime among them. Source: argo-cd, persistAppStatus.
const refreshedAnnotation = "ladder.rollout-ladder.dev/refreshed"

// refresh has the controller compare again.
func (e *Engine) refresh(ctx context.Context, ref status.Ref) error {
	_, err := e.patch(ctx, ref, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{status.RefreshAnnotation: "normal", refreshedAnnotation: e.config.Run},
	}})
	return err
}

// patchSet merges a patch into an ApplicationSet and returns it as it is then.
func (e *Engine) patchSet(ctx context.Context, ref status.Ref, patch map[string]any) (*status.Set, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("write patch of ApplicationSet %s: %w", ref, err)
	}
	obj, err := e.client.Resource(status.ApplicationSets()).Namespace(ref.Namespace).
		Patch(ctx, ref.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: Initiator})
	if err != nil {
		return nil, fmt.Errorf("patch ApplicationSet %s: %w", ref, err)
	}
	return status.ParseSet(obj)
}

// getSet reads an ApplicationSet; nil where there is none.
func (e *Engine) getSet(ctx context.Context, ref status.Ref) (*status.Set, error) {
	obj, err := e.client.Resource(status.ApplicationSets()).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ApplicationSet %s: %w", ref, err)
	}
	return status.ParseSet(obj)
}

// patch merges a patch into an Application and returns it as it is then.
func (e *Engine) patch(ctx context.Context, ref status.Ref, patch map[string]any) (*status.Application, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("write patch of %s: %w", ref.Resource().Human(), err)
	}
	obj, err := e.client.Resource(status.Applications()).Namespace(ref.Namespace).
		Patch(ctx, ref.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: Initiator})
	if err != nil {
		return nil, fmt.Errorf("patch %s: %w", ref.Resource().Human(), err)
	}
	return status.Parse(obj)
}

// get reads an Application; nil where there is none.
func (e *Engine) get(ctx context.Context, ref status.Ref) (*status.Application, error) {
	obj, err := e.client.Resource(status.Applications()).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref.Resource().Human(), err)
	}
	return status.Parse(obj)
}
