package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Judgement is what an Application says about a component.
type Judgement struct {
	Health rollout.Health
	// Revision is the wanted one only when everything of the Application was seen
	// at it; else the one that was seen, or empty.
	Revision string
	// Code is the kind of the reason why it is not Healthy at the revision.
	Code    Code
	Object  finding.Resource
	Message string
	// Final says that Argo CD does not go on by itself: the sync that it started
	// has failed, its retries included. Who drives starts the next one himself.
	Final bool
	Since time.Time
}

// Code is the kind of a reason.
type Code string

// The reasons why an Application is not Healthy at the revision.
const (
	None            Code = ""
	NotThere        Code = "not-there"        // the Application does not exist
	BeingDeleted    Code = "being-deleted"    // the Application is being deleted
	InvalidSpec     Code = "invalid-spec"     // the controller refuses the spec: project, cluster, path
	CannotCompare   Code = "cannot-compare"   // manifests or live objects cannot be had
	NotCompared     Code = "not-compared"     // the status is older than the spec or the sync
	WaitsForStep    Code = "rolling-sync"     // a step of its ApplicationSet is not due
	OperationWaits  Code = "operation-waits"  // asked for, not taken up yet
	OperationRuns   Code = "operation-runs"   // applying, or waiting for a wave
	HookWaits       Code = "hook"             // a hook runs
	WindowClosed    Code = "sync-window"      // a sync window forbids it
	RetryWaits      Code = "retry"            // a failed attempt of an operation is repeated later
	OperationFailed Code = "operation-failed" // the last operation failed
	AutoSyncOff     Code = "auto-sync-off"    // out of sync, and nobody syncs
	AutoSyncHeld    Code = "auto-sync-held"   // a rollout holds the automated sync
	NotSynced       Code = "out-of-sync"      // out of sync, and Argo CD is expected to sync
	OtherRevision   Code = "other-revision"   // synced at another revision
	Hidden          Code = "hidden"           // something newer than the revision hides its health
	ObjectHealth    Code = "health"           // an object is not Healthy
)

// Mode says how an Application gets to the revision.
type Mode int

// The modes.
const (
	// Follow expects Argo CD to sync by itself: the comparison must say Synced at
	// the revision.
	Follow Mode = iota
	// Drive has a rollout sync by operations: one that succeeded at the revision
	// also counts, while the branch has moved on.
	Drive
)

// Judge says how healthy an Application is at the wanted revision. recompared
// says that a comparison is known to have begun after the last operation ended,
// which the times in the status, of whole seconds, may not tell. A nil
// Application is one that does not exist.
func Judge(a *Application, want Want, mode Mode, recompared bool) Judgement {
	if a == nil {
		return Judgement{Health: rollout.Missing, Code: NotThere, Message: "the Application does not exist"}
	}
	j := a.blocked()
	switch {
	case j.Code == None:
		j = a.placed(want, mode, recompared)
	case j.Code == CannotCompare && mode == Drive && a.IsApplied(want):
		// What was applied could be rendered; what it is compared with cannot.
		j.Code, j.Revision = Hidden, want.Revision
	}
	if j.Object == (finding.Resource{}) && j.Code != None {
		j.Object = a.Ref.Resource()
	}
	j.Message = words(j.Message)
	return j
}

// blocked finds what keeps the status from telling anything about the revision.
func (a *Application) blocked() Judgement {
	if a.Deleting {
		return Judgement{Health: rollout.Progressing, Code: BeingDeleted, Message: "the Application is being deleted" + heldBy(a.Finalizers)}
	}
	if c, ok := a.condition("InvalidSpecError", "UnknownError"); ok {
		return Judgement{Health: rollout.Unknown, Code: InvalidSpec, Message: c.Message, Since: c.LastTransitionTime}
	}
	if a.Status.ReconciledAt.IsZero() && !a.InProgress() {
		if c, ok := a.condition("ComparisonError"); ok {
			return Judgement{Health: rollout.Unknown, Code: CannotCompare, Message: c.Message, Since: c.LastTransitionTime}
		}
		return Judgement{Health: rollout.Unknown, Code: NotCompared, Message: "Argo CD has not compared the Application yet"}
	}
	if a.InProgress() {
		return a.operating()
	}
	if c, ok := a.condition("ComparisonError"); ok {
		return Judgement{Health: rollout.Unknown, Code: CannotCompare, Message: c.Message, Since: c.LastTransitionTime}
	}
	if !a.IsCompared() {
		return Judgement{Health: rollout.Progressing, Code: NotCompared, Message: "the spec was changed after Argo CD compared it last", Since: a.Status.ReconciledAt}
	}
	return Judgement{}
}

// condition is the first condition of one of the types.
func (a *Application) condition(types ...string) (Condition, bool) {
	for _, t := range types {
		for _, c := range a.Status.Conditions {
			if c.Type == t {
				return c, true
			}
		}
	}
	return Condition{}, false
}

// operating words an operation in progress.
func (a *Application) operating() Judgement {
	j := Judgement{Health: rollout.Progressing}
	if !a.Started() {
		j.Code = OperationWaits
		j.Message = "a sync of " + a.Operation.InitiatedBy.String() + " waits for the controller to take it up"
		return j
	}
	s := a.Status.OperationState
	j.Since = s.StartedAt
	who := "the sync of " + s.Operation.InitiatedBy.String()
	switch {
	case s.Phase == Terminating:
		j.Code, j.Message = OperationRuns, who+" is being terminated"
	case !s.FinishedAt.IsZero():
		j.Code, j.Message = RetryWaits, who+" failed and is repeated: "+s.Message
		if r, ok := s.worst(); ok {
			j.Object = r.Resource()
			if r.Message != "" && !strings.Contains(s.Message, r.Message) { // the operation names no cause
				j.Message += " (" + r.Resource().Human() + ": " + words(r.Message) + ")"
			}
		}
	case strings.HasPrefix(s.Message, "Sync operation blocked by sync window"):
		// Source: argo-cd, controller/sync.go.
		j.Code, j.Message = WindowClosed, who+" waits for a sync window of project "+project(a.Project)
	default:
		j.Code, j.Message = OperationRuns, who+" runs"
		if hook, ok := s.hook(); ok {
			j.Code, j.Object = HookWaits, hook.Resource()
			j.Message = fmt.Sprintf("hook %s of phase %s runs", hook.Resource().Human(), hook.SyncPhase)
			if hook.Message != "" {
				j.Message += ": " + hook.Message
			}
		} else if s.Message != "" {
			j.Message += ": " + s.Message
		}
	}
	return j
}

func project(name string) string {
	if name == "" {
		return "default"
	}
	return name
}

// hook is the first hook that runs.
func (s *OperationState) hook() (Result, bool) {
	if s.SyncResult == nil {
		return Result{}, false
	}
	for _, r := range s.SyncResult.Resources {
		if r.HookType != "" && r.HookPhase == Running {
			return r, true
		}
	}
	return Result{}, false
}

// worst is the first object that a sync failed at.
func (s *OperationState) worst() (Result, bool) {
	if s == nil || s.SyncResult == nil {
		return Result{}, false
	}
	for _, r := range s.SyncResult.Resources {
		if r.Status == "SyncFailed" || r.HookPhase == Failed || r.HookPhase == Error {
			return r, true
		}
	}
	return Result{}, false
}

// Failure is the object that the last operation failed at, and why, without the
// credentials of addresses; false where it did not fail.
func (a *Application) Failure() (finding.Resource, string, bool) {
	s := a.Status.OperationState
	if s == nil || s.Phase != Failed && s.Phase != Error {
		return finding.Resource{}, "", false
	}
	if r, ok := s.worst(); ok && r.Message != "" {
		return r.Resource(), words(r.Message), true
	}
	return a.Ref.Resource(), words(s.Message), true
}

func heldBy(finalizers []string) string {
	if len(finalizers) == 0 {
		return ""
	}
	return ", held by " + strings.Join(finalizers, ", ")
}

// placed judges an Application whose comparison is of its present spec and on
// which nothing operates.
func (a *Application) placed(want Want, mode Mode, recompared bool) Judgement {
	sync, state := a.Status.Sync, a.Status.OperationState
	at := want.Revision
	synced := want.matches(a.Spec, sync.Revision, sync.Revisions)
	applied := a.AppliedSpec() && want.matches(a.Spec, state.SyncResult.Revision, state.SyncResult.Revisions)

	if object, message, failed := a.Failure(); failed && (synced || applied) {
		return Judgement{Health: rollout.Degraded, Code: OperationFailed, Object: object, Message: message, Revision: seenAt(applied, at), Final: mode == Follow, Since: state.FinishedAt}
	}
	full := a.IsApplied(want)
	behind := state != nil && a.Status.ReconciledAt.Before(state.FinishedAt)
	switch {
	case behind && (synced || applied):
		return Judgement{Health: rollout.Progressing, Code: NotCompared, Message: "Argo CD has not compared since the sync ended", Since: state.FinishedAt}
	case synced && sync.Status == Synced:
		return a.health(at)
	case synced && full && a.onlyToPrune():
		// Whoever synced did not ask for what is left to be deleted.
		return a.health(at)
	case mode == Drive && full && !synced:
		if !recompared && !a.Status.ReconciledAt.After(state.FinishedAt) {
			return Judgement{Health: rollout.Progressing, Code: NotCompared, Message: "Argo CD has not compared since the sync ended", Since: state.FinishedAt}
		}
		return a.healthBehindHead(at)
	}
	return a.elsewhere(want, synced)
}

// IsApplied reports whether the last operation synced everything of the present
// sources at the revision.
func (a *Application) IsApplied(want Want) bool {
	s := a.Status.OperationState
	if s == nil || s.Phase != Succeeded || !a.AppliedSpec() {
		return false
	}
	if o := s.Operation.Sync; o != nil && (len(o.Resources) > 0 || o.DryRun) {
		return false
	}
	return want.matches(a.Spec, s.SyncResult.Revision, s.SyncResult.Revisions)
}

func seenAt(there bool, revision string) string {
	if there {
		return revision
	}
	return ""
}

// onlyToPrune reports whether nothing but deletions is missing.
func (a *Application) onlyToPrune() bool {
	some := false
	for _, r := range a.Status.Resources {
		if r.Status == OutOfSync && !r.Hook {
			if !r.RequiresPruning {
				return false
			}
			some = true
		}
	}
	return some && a.Status.Sync.Status == OutOfSync
}

// elsewhere words an Application that is not synced at the revision.
func (a *Application) elsewhere(want Want, atRevision bool) Judgement {
	sync := a.Status.Sync
	j := Judgement{Health: healthOf(a.Status.Health.Status), Revision: want.seen(a.Spec, sync.Revision, sync.Revisions), Since: a.Status.ReconciledAt}
	if atRevision && j.Revision == want.Revision {
		j.Revision = ""
	}
	if sync.Status == Synced {
		j.Code = OtherRevision
		j.Message = fmt.Sprintf("is at revision %s, not at %s", short(j.Revision), short(want.Revision))
		return j
	}
	j.Revision = ""
	if j.Health == rollout.Healthy {
		j.Health = rollout.Progressing
	}
	what := "is out of sync"
	if names := a.outOfSync(); names != "" {
		what += ": " + names
	}
	switch held := a.Annotations[HeldAnnotation] != ""; {
	case sync.Status != OutOfSync:
		j.Code, j.Message = NotCompared, "has the sync status "+orUnknown(sync.Status)
	case held:
		j.Code, j.Message = AutoSyncHeld, what+"; a rollout holds its automated sync"
	case a.Set == "" && !a.SyncPolicy.IsAutomated():
		j.Code, j.Message = AutoSyncOff, what+", and automated sync is off"
	default:
		j.Code, j.Message = NotSynced, what
	}
	return j
}

// HeldAnnotation is on an Application whose automated sync a rollout holds; its
// value says what it was.
const HeldAnnotation = "ladder.rollout-ladder.dev/held-automated-sync"

func orUnknown(s string) string {
	if s == "" {
		return "Unknown"
	}
	return s
}

// outOfSync names the first objects that differ.
func (a *Application) outOfSync() string {
	const few = 3
	var names []string
	more := 0
	for _, r := range a.Status.Resources {
		if r.Status != OutOfSync {
			continue
		}
		if len(names) == few {
			more++
			continue
		}
		names = append(names, r.Resource().Human())
	}
	out := strings.Join(names, ", ")
	if more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

func short(revision string) string {
	if len(revision) == 40 && isHex(revision) {
		return revision[:7]
	}
	if revision == "" {
		return "an unknown revision"
	}
	return revision
}
