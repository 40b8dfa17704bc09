package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// cascade is the finalizer with which Argo CD deletes what an Application has
// applied, in the foreground. Source: argo-cd, ResourcesFinalizerName.
const cascade = "resources-finalizer.argocd.argoproj.io"

// Remove implements executor.Engine: the Application is deleted with everything that
// it has applied, as `argocd app delete --cascade` does. What Argo CD leaves
// because it asks for that (Delete=false, Prune=false, Helm's resource policy) it
// does not tell, so left is always empty.
func (e *Engine) Remove(ctx context.Context, component string) (left []finding.Resource, err error) {
	ref, ok := e.config.Removals[component]
	if !ok {
		return nil, fmt.Errorf("component %s has no Application that is to be removed", component)
	}
	if err := e.watcher.Start(ctx); err != nil {
		return nil, err
	}
	a, err := e.get(ctx, ref)
	if err != nil {
		return nil, failed(ref, err)
	}
	if a == nil {
		return nil, nil // it was removed before
	}
	if !a.Deleting {
		if err := e.delete(ctx, a); err != nil {
			return nil, err
		}
	}
	return nil, e.watcher.Await(ctx, ref, func(now *status.Application, _ status.Judgement) bool {
		return now == nil || now.UID != a.UID
	})
}

// delete asks for the end of an Application and of what it has applied.
func (e *Engine) delete(ctx context.Context, a *status.Application) error {
	for {
		if err := e.refuseRemoval(a); err != nil {
			return err
		}
		now, err := e.cascading(ctx, a)
		if err == nil && now != nil {
			uid := types.UID(now.UID)
			err = e.client.Resource(status.Applications()).Namespace(a.Ref.Namespace).
				Delete(ctx, a.Ref.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		}
		switch {
		case err == nil, apierrors.IsNotFound(err):
			return nil
		case !apierrors.IsConflict(err):
			return failed(a.Ref, err)
		}
		if a, err = e.get(ctx, a.Ref); err != nil {
			return failed(a.Ref, err)
		}
		if a == nil {
			return nil
		}
	}
}

// cascading gives an Application the finalizer without which Argo CD would leave
// what it has applied in the cluster.
func (e *Engine) cascading(ctx context.Context, a *status.Application) (*status.Application, error) {
	if slices.ContainsFunc(a.Finalizers, func(f string) bool { return f == cascade || strings.HasPrefix(f, cascade+"/") }) {
		return a, nil
	}
	return e.patch(ctx, a.Ref, map[string]any{"metadata": map[string]any{
		"resourceVersion": a.ResourceVersion, "finalizers": append(slices.Clone(a.Finalizers), cascade),
	}})
}

// refuseRemoval keeps an Application from being deleted that would be made anew,
// or that holds Applications which stay.
func (e *Engine) refuseRemoval(a *status.Application) error {
	refused := func(message string) error {
		return &executor.ObjectError{Object: a.Ref.Resource(), Message: message, Final: true}
	}
	if a.Set != "" && e.watcher.Set(status.Ref{Namespace: a.Ref.Namespace, Name: a.Set}) != nil {
		return refused(fmt.Sprintf("ApplicationSet %s owns the Application and would make it anew; take it out of its generators, and the controller deletes it", a.Set))
	}
	stay := map[finding.Resource]bool{}
	for _, ref := range e.config.Applications {
		stay[ref.Resource()] = true
	}
	for _, r := range a.Status.Resources {
		if stay[r.Resource()] {
			return refused(fmt.Sprintf("it applies %s, which is part of the rollout and would be deleted along", r.Resource().Human()))
		}
	}
	return nil
}
