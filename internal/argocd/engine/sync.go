package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
)

const (
	// comparedAfter is how long a sync waits for the comparison that the controller
	// makes by itself before it asks for one.
	comparedAfter = 2 * time.Second
	// comparePatience is how long a comparison that was asked for is waited for
	// before a sync is tried without it.
	comparePatience = 20 * time.Second
	// unreachable begins the message of a sync for which the controller could not read
	// the cluster: nothing was applied. It tries to read it again after 10 s.
	// Sources: argo-cd, controller/cache/cache.go; gitops-engine, ClusterRetryTimeout.
	unreachable = "error synchronizing cache state"
	// readAgain is how long such a sync waits until it is asked for again, and
	// readLimit how many times it is.
	readAgain = 11 * time.Second
	readLimit = 3
)

// Sync implements executor.Engine: one sync operation of the Application of a
// component, pinned to the revision. An operation of somebody else that runs is
// waited for. When ctx ends the operation goes on; the next Sync of this process
// ends it, that of another process of the same run waits for it.
func (e *Engine) Sync(ctx context.Context, component string) error {
	ref, ok := e.config.Applications[component]
	if !ok {
		return fmt.Errorf("component %s has no Application", component)
	}
	if err := e.Prepare(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	e.synced[component] = true
	e.mu.Unlock()

	if a := e.watcher.Application(ref); a != nil && e.hasDone(a) {
		return e.afterSync(ctx, ref)
	}
	if err := e.compared(ctx, ref); err != nil {
		return err
	}
	if err := e.holdAgain(ctx, ref); err != nil {
		return failed(ref, err)
	}
	err := e.operate(ctx, ref)
	var failure *executor.ObjectError
	for again := 0; again < readLimit && errors.As(err, &failure) && strings.HasPrefix(failure.Message, unreachable); again++ {
		pause, cancel := e.within(ctx, readAgain)
		<-pause.Done()
		cancel()
		if ctx.Err() != nil {
			return err
		}
		err = e.operate(ctx, ref)
	}
	if err != nil {
		return err
	}
	return e.afterSync(ctx, ref)
}

// operate is one operation, from its beginning to its end.
func (e *Engine) operate(ctx context.Context, ref status.Ref) error {
	asked, token, err := e.begin(ctx, ref)
	if err != nil || token == "" {
		return err
	}
	return e.finish(ctx, ref, asked, token)
}

// hasDone reports whether a process of this run that died has synced the
// Application to its end, and it is as it was left. It does so once: what is asked
// for after that is a sync of its own.
func (e *Engine) hasDone(a *status.Application) bool {
	s := a.Status.OperationState
	if a.InProgress() || s == nil || !e.wants(a, &s.Operation) || !a.IsApplied(e.want) || !a.IsCompared() {
		return false
	}
	if token := s.Value(InfoToken); e.isGiven(token) || e.hasEnded(token) {
		return false
	}
	if !a.Status.ReconciledAt.After(s.FinishedAt) {
		return true // the controller may not have looked again: the times are of whole seconds
	}
	j := status.Judge(a, e.want, status.Drive, true)
	return j.Revision == e.config.Revision && (j.Health == rollout.Healthy || j.Health == rollout.Progressing)
}

// hasEnded reports whether this process has seen the end of an operation before,
// and notes that it has now.
func (e *Engine) hasEnded(token string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.ended[token]
	e.ended[token] = true
	return before
}

// compared has the controller look again at an Application whose errors may be of
// yesterday: it refuses to sync while its status has them. Source: argo-cd,
// controller/sync.go.
func (e *Engine) compared(ctx context.Context, ref status.Ref) error {
	j := e.watcher.Judge(ref)
	switch {
	case j.Code == status.NotThere:
		return &executor.ObjectError{Object: ref.Resource(), Message: "the Application does not exist; apply what makes it, such as the root Application, first"}
	case j.Code == status.BeingDeleted:
		return &executor.ObjectError{Object: ref.Resource(), Message: j.Message}
	case j.Code != status.InvalidSpec && j.Code != status.CannotCompare && j.Code != status.NotCompared:
		return nil
	}
	if err := e.refresh(ctx, ref); err != nil {
		return failed(ref, err)
	}
	bounded, cancel := e.within(ctx, comparePatience)
	defer cancel()
	err := e.watcher.Await(bounded, ref, func(a *status.Application, _ status.Judgement) bool {
		if a == nil {
			return true
		}
		_, asked := a.Annotations[status.RefreshAnnotation]
		return !asked && !a.Status.ReconciledAt.IsZero()
	})
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if j := e.watcher.Judge(ref); j.Code == status.InvalidSpec {
		return &executor.ObjectError{Object: ref.Resource(), Message: j.Message, Final: true}
	}
	return nil
}

// begin starts the operation, or takes up one of this run that is on its way. There
// is no token where a process that died had asked for it, and it has ended by now:
// its request may arrive after it has gone.
func (e *Engine) begin(ctx context.Context, ref status.Ref) (*status.Application, string, error) {
	a := e.watcher.Application(ref)
	for {
		if a == nil {
			return nil, "", &executor.ObjectError{Object: ref.Resource(), Message: "the Application does not exist"}
		}
		if a.InProgress() {
			if token := a.Current().Value(InfoToken); e.wants(a, a.Current()) && !e.isGiven(token) && !a.Status.OperationState.IsTerminating() {
				return a, token, nil
			}
			var err error
			if a, err = e.outwait(ctx, a); err != nil {
				return nil, "", err
			}
			continue
		}
		if e.hasDone(a) {
			return a, "", nil
		}
		asked, token, err := e.request(ctx, a)
		switch {
		case err == nil:
			return asked, token, nil
		case !apierrors.IsConflict(err):
			return nil, "", failed(ref, err)
		}
		if a, err = e.get(ctx, ref); err != nil {
			return nil, "", failed(ref, err)
		}
	}
}

// outwait returns the Application when the operation on it has ended: one of this
// program is ended, any other is waited for.
func (e *Engine) outwait(ctx context.Context, a *status.Application) (*status.Application, error) {
	ref, current := a.Ref, a.Current()
	if isOurs(current) && !a.Status.OperationState.IsTerminating() {
		if err := e.terminate(ctx, a); err != nil && !apierrors.IsConflict(err) {
			return nil, failed(ref, err)
		}
		return e.get(ctx, ref)
	}
	var now *status.Application
	seen := a.ResourceVersion
	err := e.watcher.Await(ctx, ref, func(a *status.Application, _ status.Judgement) bool {
		if a != nil && !newer(a.ResourceVersion, seen) {
			return false // the watch is behind what was read
		}
		now = a
		return a == nil || !a.InProgress()
	})
	return now, err
}

func (e *Engine) isGiven(token string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.given[token]
}

// finish waits for the end of an operation.
func (e *Engine) finish(ctx context.Context, ref status.Ref, asked *status.Application, token string) error {
	var end *status.Application
	err := e.watcher.Await(ctx, ref, func(a *status.Application, _ status.Judgement) bool {
		switch {
		case a == nil:
			return true
		case !newer(a.ResourceVersion, asked.ResourceVersion):
			return false
		case a.Operation.Value(InfoToken) == token:
			return false
		case a.Operation == nil && a.Status.OperationState.Value(InfoToken) == token && !a.Status.OperationState.Ended():
			return false
		}
		end = a
		return true
	})
	if err != nil {
		e.mu.Lock()
		e.given[token] = true
		e.mu.Unlock()
		return err
	}
	e.hasEnded(token)
	if end == nil {
		return &executor.ObjectError{Object: ref.Resource(), Message: "the Application was deleted while it was synced"}
	}
	return e.result(end, token)
}

// result is the outcome of an operation that has ended.
func (e *Engine) result(a *status.Application, token string) error {
	s := a.Status.OperationState
	if s.Value(InfoToken) != token {
		who := "somebody"
		if o := a.Current(); o != nil {
			who = o.InitiatedBy.String()
		} else if s != nil {
			who = s.Operation.InitiatedBy.String()
		}
		return &executor.ObjectError{Object: a.Ref.Resource(), Message: "the sync was replaced by one of " + who}
	}
	if object, message, bad := a.Failure(); bad {
		return &executor.ObjectError{Object: object, Message: message, Final: isFinal(object, message)}
	}
	if !a.AppliedSpec() {
		return &executor.ObjectError{Object: a.Ref.Resource(), Message: "the spec of the Application was changed while it was synced"}
	}
	return nil
}

// isFinal reports whether a retry does not help: what the project forbids, or
// what the controller does not find in the spec, stays so until a person changes
// it. Source: argo-cd, controller/sync.go, and util/argo ValidatePermissions.
func isFinal(object finding.Resource, message string) bool {
	for _, sign := range []string{"is not permitted in project", "InvalidSpecError", "Shared resource found"} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	// The API server has looked at the object and refused it as it is written.
	return object.Kind != "Application" && strings.Contains(message, " is invalid: ")
}

// afterSync sees to it that the controller compares what the sync has made, and
// gives automated sync back to an Application that cannot move on.
func (e *Engine) afterSync(ctx context.Context, ref status.Ref) error {
	bounded, cancel := e.within(ctx, comparedAfter)
	err := e.watcher.Await(bounded, ref, func(_ *status.Application, j status.Judgement) bool { return j.Code != status.NotCompared })
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if err := e.refresh(ctx, ref); err != nil {
			return failed(ref, err)
		}
	}
	if a := e.watcher.Application(ref); a != nil && a.Annotations[status.HeldAnnotation] != "" && e.isFixed(a) {
		if err := e.release(ctx, ref); err != nil {
			return failed(ref, err)
		}
	}
	return nil
}

// failed makes an error of the API server one about an Application.
func failed(ref status.Ref, err error) error {
	return &executor.ObjectError{Object: ref.Resource(), Message: confidential.Invalid(finding.Redact(err.Error())), Final: apierrors.IsForbidden(err) || apierrors.IsInvalid(err)}
}

// newer reports whether a resource version is at least as new as another of the
// same object. They are numbers that grow (KEP-5504); any that are not count as
// new.
func newer(version, than string) bool {
	v, err := strconv.ParseUint(version, 10, 64)
	t, err2 := strconv.ParseUint(than, 10, 64)
	return err != nil || err2 != nil || v >= t
}
