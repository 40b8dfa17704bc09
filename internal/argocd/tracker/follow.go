package tracker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Options say what is followed.
type Options struct {
	// Applications are those of the components, by name of the component. A
	// component without one is not followed (see Set).
	Applications map[string]status.Ref
	// Parents are Applications that apply others.
	Parents []status.Ref
	// Spanning are components whose Application applies others as well: its sync
	// lasts as long as theirs, so that nothing is behind it.
	Spanning map[string]bool
	// Patience is how long nothing may move while nothing is in flight, until what
	// has not started counts as failed.
	Patience time.Duration
	// Quiet is how long the rollout is followed at least after the first failure;
	// what is in flight then is followed to its end.
	Quiet time.Duration
}

// Follower follows one rollout. It is not safe for concurrent use.
type Follower struct {
	options Options
	state   rollout.State
	// fleet is what was seen last.
	fleet       status.Fleet
	transitions []rollout.Transition
	byName      map[string]int
	// moved is when something changed last.
	moved time.Time
	// badAt is when the first component failed, flying what was in flight then.
	badAt  time.Time
	flying []int
	// operations are the starts of the operations that were counted, by component.
	operations map[string]time.Time
	attempts   map[string]int
	// lags is since when a component waits for the controllers of Argo CD alone.
	lags map[int]time.Time
	// passed are the components that Argo CD itself once showed as Healthy.
	passed map[int]bool
	// parents is how the Applications that apply others looked last.
	parents string
}

// longestLag is how long a component may wait for the controllers alone.
const longestLag = 5 * time.Minute

// longestRetry is how long a parent may be tried again and again while nothing
// comes of it.
const longestRetry = 10 * time.Minute

// New starts to follow the rollout of a specification. now is when it started.
func New(spec rollout.Spec, o Options, now time.Time) *Follower {
	f := &Follower{
		options: o, byName: map[string]int{}, moved: now, operations: map[string]time.Time{}, attempts: map[string]int{}, lags: map[int]time.Time{}, passed: map[int]bool{},
		state: rollout.State{FormatVersion: rollout.FormatVersion, Spec: spec},
	}
	f.state.StartedAt, f.state.UpdatedAt = now, now
	if spec.Timeout > 0 {
		f.state.Deadline = now.Add(spec.Timeout)
	}
	for i, c := range spec.Components {
		f.byName[c.Name] = i
		f.state.Components = append(f.state.Components, rollout.ComponentState{Name: c.Name, Status: rollout.Blocked})
	}
	return f
}

// Set takes over the state of components that are not followed, and how they got
// there.
func (f *Follower) Set(states []rollout.ComponentState, transitions []rollout.Transition) {
	for _, s := range states {
		if i, ok := f.byName[s.Name]; ok {
			f.state.Components[i] = s
		}
	}
	f.transitions = append(f.transitions, transitions...)
}

// Look takes in how the Applications of the named components are now, and what is
// due, and returns what changed.
func (f *Follower) Look(fleet status.Fleet, now time.Time, names ...string) []rollout.Transition {
	if f.Ended() {
		return nil
	}
	f.fleet = fleet
	before := len(f.transitions)
	for _, name := range names {
		if i, ok := f.byName[name]; ok {
			f.see(i, now)
		}
	}
	for i := range f.state.Components {
		f.pass(i)
		f.expire(i, now)
	}
	f.openGates(now)
	f.seeParents(now)
	if len(f.transitions) > before {
		f.moved, f.state.UpdatedAt = now, now
	}
	f.conclude(now)
	return f.transitions[before:]
}

// pass notes what Argo CD shows as Healthy.
func (f *Follower) pass(i int) {
	a := f.fleet.Application(f.options.Applications[f.state.Components[i].Name])
	if a != nil && a.Status.Health.Status == string(rollout.Healthy) {
		f.passed[i] = true
	}
}

// seeParents takes it for a movement when the sync of an Application that applies
// others goes on: its backoff is in real time, and may be long.
func (f *Follower) seeParents(now time.Time) {
	var all strings.Builder
	for _, p := range f.options.Parents {
		j := f.fleet.Judge(p)
		all.WriteString(string(j.Code) + j.Message + "\n")
	}
	if looks := all.String(); looks != f.parents && now.Sub(f.state.UpdatedAt) < longestRetry {
		f.parents, f.moved = looks, now
	}
}

// see takes in one Application.
func (f *Follower) see(i int, now time.Time) {
	c := &f.state.Components[i]
	ref, followed := f.options.Applications[c.Name]
	if !followed || c.Status.Bad() {
		return
	}
	a, j := f.fleet.Application(ref), f.fleet.Judge(ref)
	f.count(c, a)
	f.lag(i, j.Code, now)
	c.Seen = rollout.Sighting{At: now, Health: j.Health, Revision: j.Revision, Final: j.Final, Message: j.Message, Object: j.Object}
	healthy := j.Code == status.None && j.Health == rollout.Healthy || f.drifts(a, j)
	switch {
	case healthy:
		f.start(i, a, now)
		f.sync(c, now)
		if c.Status != rollout.Done {
			c.HealthyAt, c.LastFailure = now, ""
			f.move(c, rollout.Done, "", now)
		}
		c.Message, c.Object = "", j.Object
		return
	case c.Status == rollout.Done && !isRegression(j.Code):
		return // a sync of what is there heals by itself or shows soon
	}
	c.Message, c.Object = words(j), j.Object
	switch {
	case c.Status == rollout.Done:
		c.RegressedAt, c.Deadline = now, f.deadline(i, now)
		f.move(c, rollout.Regressed, c.Message, now)
	case j.Code == status.OperationFailed && j.Final:
		f.start(i, a, now)
		f.fail(c, rollout.Failed, c.Message, now)
	case j.Code == status.RetryWaits:
		f.start(i, a, now)
		c.LastFailure = j.Message
		if c.Status != rollout.Retrying {
			c.Failures++
			f.move(c, rollout.Retrying, c.Message, now)
		}
	case j.Code == status.OperationRuns, j.Code == status.HookWaits, j.Code == status.OperationWaits:
		f.start(i, a, now)
		if c.Status == rollout.Retrying {
			f.move(c, rollout.Syncing, fmt.Sprintf("attempt %d", c.Attempt), now)
		}
	case a != nil && a.Status.OperationState != nil && a.Status.OperationState.Phase == status.Succeeded && c.Status != rollout.Regressed:
		f.start(i, a, now)
		f.sync(c, now)
	}
}

// lag lets the time of a component stand still while Argo CD has not taken up its
// sync, or not compared after it: a slow machine is no reason to fail.
func (f *Follower) lag(i int, code status.Code, now time.Time) {
	c := &f.state.Components[i]
	since, lagged := f.lags[i]
	lags := code == status.NotCompared || code == status.OperationWaits
	switch {
	case lags && !lagged:
		f.lags[i] = now
	case !lags && lagged:
		delete(f.lags, i)
		if !c.Deadline.IsZero() {
			c.Deadline = c.Deadline.Add(now.Sub(since))
		}
	}
}

// expire fails a component whose time is up.
func (f *Follower) expire(i int, now time.Time) {
	c := &f.state.Components[i]
	if !isFlying(c.Status) || c.Deadline.IsZero() || now.Before(c.Deadline) {
		return
	}
	if since, lagged := f.lags[i]; lagged && now.Sub(since) < longestLag {
		return
	}
	f.fail(c, rollout.TimedOut, fmt.Sprintf("not Healthy after %s: %s", f.state.Spec.Components[i].Timeout.Round(time.Millisecond), c.Message), now)
}

// isRegression reports whether a reason says that something that was Healthy is
// not any more.
func isRegression(code status.Code) bool {
	switch code {
	case status.ObjectHealth, status.OperationFailed, status.NotThere, status.BeingDeleted, status.InvalidSpec, status.CannotCompare:
		return true
	default:
		return false
	}
}

func words(j status.Judgement) string {
	return cmp.Or(strings.TrimSpace(j.Message), fmt.Sprintf("its health is %s", j.Health))
}

// count numbers the attempts: operations, and the retries in them.
func (f *Follower) count(c *rollout.ComponentState, a *status.Application) {
	if a == nil || a.Status.OperationState == nil {
		return
	}
	s := a.Status.OperationState
	if !s.StartedAt.Equal(f.operations[c.Name]) {
		f.operations[c.Name] = s.StartedAt
		f.attempts[c.Name]++
	}
	if c.Status != rollout.Done { // what heals itself makes no attempts
		c.Attempt = f.attempts[c.Name] + int(s.RetryCount)
	}
}

// start notes the first start of a component.
func (f *Follower) start(i int, a *status.Application, now time.Time) {
	c := &f.state.Components[i]
	if c.Status != rollout.Blocked {
		return
	}
	if _, lagged := f.lags[i]; lagged {
		f.lags[i] = now // what was before the start counts for nothing
	}
	if c.UnblockedAt.IsZero() {
		c.UnblockedAt = now
	}
	c.StartedAt, c.Deadline = now, f.deadline(i, now)
	c.Attempt = max(c.Attempt, 1)
	reason := ""
	if a != nil {
		if o := a.Current(); o != nil {
			reason = by(o.InitiatedBy)
		}
	}
	// What was seen at the same moment may not have been looked at yet.
	for _, before := range f.unhealthyBefore(i) {
		f.see(f.byName[before], now)
	}
	if c.Status != rollout.Blocked {
		return
	}
	f.move(c, rollout.Syncing, strings.TrimPrefix(reason+f.tooEarly(i), "; "), now)
}

// by words who asked for a sync.
func by(i status.Initiator) string {
	switch {
	case i.Username != "":
		return "sync by " + i.Username
	case i.Automated:
		return "automated sync"
	}
	return ""
}

// tooEarly says which components of earlier steps were not Healthy when one
// started. Argo CD goes by status.health alone, and a wave that it has passed counts
// as passed: the health may be that of what was there before, of objects that are
// adopted or of the first ones that are applied, or have been right at that time.
func (f *Follower) tooEarly(i int) string {
	var unhealthy, stale, lapsed, late []string
	for _, name := range f.unhealthyBefore(i) {
		at := f.byName[name]
		f.pass(at)
		switch status := f.state.Components[at].Status; {
		case status == rollout.TimedOut:
			late = append(late, name)
		case status == rollout.Regressed:
			lapsed = append(lapsed, name)
		case f.passed[at]:
			stale = append(stale, name)
		default:
			unhealthy = append(unhealthy, name)
		}
	}
	text := ""
	if len(unhealthy) > 0 {
		text += "; started although " + list(unhealthy) + " of earlier steps " + are(unhealthy) + " not Healthy"
	}
	if len(stale) > 0 {
		text += "; started while " + list(stale) + " of earlier steps " + are(stale) + " still synced: Argo CD took the health before the sync for that after it"
	}
	if len(lapsed) > 0 {
		text += "; started while " + list(lapsed) + " of earlier steps " + are(lapsed) + " not Healthy any more: Argo CD does not look back at what it has passed"
	}
	if len(late) > 0 {
		text += "; started behind " + list(late) + ", which timed out here: Argo CD knows no timeouts"
	}
	return text
}

// drifts reports whether everything of an Application was applied at the revision
// and is Healthy, and something was changed since: what others write into an
// object takes nothing of its health.
func (f *Follower) drifts(a *status.Application, j status.Judgement) bool {
	if a == nil || j.Code != status.NotSynced || a.Status.Health.Status != string(rollout.Healthy) {
		return false
	}
	s := a.Status.OperationState
	if s == nil || s.Phase != status.Succeeded || s.SyncResult == nil || a.Status.ReconciledAt.Before(s.FinishedAt) {
		return false
	}
	return slices.Contains(append([]string{s.SyncResult.Revision}, s.SyncResult.Revisions...), f.state.Spec.Revision)
}

// sync notes that everything of a component is applied.
func (f *Follower) sync(c *rollout.ComponentState, now time.Time) {
	if c.Status == rollout.Syncing || c.Status == rollout.Retrying {
		c.SyncedAt = now
		f.move(c, rollout.Waiting, "", now)
	}
}

func (f *Follower) deadline(i int, now time.Time) time.Time {
	if t := f.state.Spec.Components[i].Timeout; t > 0 && !f.options.Spanning[f.state.Spec.Components[i].Name] {
		return now.Add(t)
	}
	return time.Time{}
}

func (f *Follower) fail(c *rollout.ComponentState, to rollout.Status, message string, now time.Time) {
	c.EndedAt, c.Message = now, message
	if to == rollout.TimedOut {
		c.Timeouts++
	}
	c.Failures++
	f.move(c, to, message, now)
	if !f.badAt.IsZero() {
		return
	}
	f.badAt = now
	for i, other := range f.state.Components {
		if isFlying(other.Status) && !f.options.Spanning[other.Name] {
			f.flying = append(f.flying, i)
		}
	}
}

// isFlying reports whether a component has been started and is neither Healthy
// nor over.
func isFlying(s rollout.Status) bool {
	return s.InFlight() || s == rollout.Retrying || s == rollout.Regressed
}

func (f *Follower) move(c *rollout.ComponentState, to rollout.Status, reason string, now time.Time) {
	f.transitions = append(f.transitions, rollout.Transition{At: now, Component: c.Name, From: c.Status, To: to, Reason: reason})
	c.Status = to
	f.state.Sequence++
}

// openGates notes when everything of the earlier steps was Healthy.
func (f *Follower) openGates(now time.Time) {
	for i := range f.state.Components {
		if c := &f.state.Components[i]; c.Status == rollout.Blocked && c.UnblockedAt.IsZero() && len(f.unhealthyBefore(i)) == 0 {
			c.UnblockedAt = now
		}
	}
}

// unhealthyBefore are the components of earlier steps that are not Healthy: those
// of the first such step.
func (f *Follower) unhealthyBefore(i int) []string {
	step, first := f.state.Spec.Components[i].Step, -1
	var names []string
	for k, c := range f.state.Components {
		at := f.state.Spec.Components[k].Step
		if at >= step || c.Status == rollout.Done || f.options.Spanning[c.Name] || first >= 0 && at > first {
			continue
		}
		if at != first {
			first, names = at, nil
		}
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// list names at most three.
func list(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

func are(names []string) string {
	if len(names) == 1 {
		return "is"
	}
	return "are"
}
