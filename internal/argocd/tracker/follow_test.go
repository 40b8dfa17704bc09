package tracker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/argocd/tracker"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

const revision = "0123456789012345678901234567890123456789"

// fleet is what a test says that is seen.
type fleet map[string]*seen

// seen is one Application.
type seen struct {
	application *status.Application
	judgement   status.Judgement
}

func (f fleet) Application(r status.Ref) *status.Application {
	if s := f[r.Name]; s != nil {
		return s.application
	}
	return nil
}

func (f fleet) Set(status.Ref) *status.Set { return nil }

func (f fleet) Judge(r status.Ref) status.Judgement {
	if s := f[r.Name]; s != nil {
		return s.judgement
	}
	return status.Judge(nil, status.Want{}, status.Follow, false)
}

// scenario is a follower of a ladder of two steps, db before api, and its world.
type scenario struct {
	t        *testing.T
	follower *tracker.Follower
	fleet    fleet
	now      time.Time
}

func newScenario(t *testing.T) *scenario {
	p := &scenario{t: t, fleet: fleet{}, now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)}
	p.follower = tracker.New(rollout.Spec{
		Revision: revision, Policy: rollout.Phases, Steps: []rollout.StepSpec{{Label: "100"}, {Label: "200"}},
		Components: []rollout.ComponentSpec{{Name: "db", Timeout: time.Minute}, {Name: "api", Step: 1, Timeout: time.Minute}},
	}, tracker.Options{
		Applications: map[string]status.Ref{"db": {Namespace: "argocd", Name: "db"}, "api": {Namespace: "argocd", Name: "api"}},
		Parents:      []status.Ref{{Namespace: "argocd", Name: "root"}},
		Patience:     90 * time.Second, Quiet: 10 * time.Second,
	}, p.now)
	return p
}

// see lets an Application look different, and a second pass.
func (p *scenario) see(name string, s seen) *scenario {
	p.t.Helper()
	p.now = p.now.Add(time.Second)
	if s.application == nil {
		s.application = &status.Application{Ref: status.Ref{Namespace: "argocd", Name: name}}
	}
	p.fleet[name] = &s
	p.follower.Look(p.fleet, p.now, name)
	return p
}

// wait lets time pass without anything new.
func (p *scenario) wait(d time.Duration) *scenario {
	p.now = p.now.Add(d)
	p.follower.Look(p.fleet, p.now)
	return p
}

// The looks of an Application.
func running() seen {
	return seen{
		application: &status.Application{Status: status.Status{OperationState: &status.OperationState{Phase: status.Running, StartedAt: time.Unix(1, 0)}}},
		judgement:   status.Judgement{Health: rollout.Progressing, Code: status.OperationRuns, Message: "the sync runs"},
	}
}

func applied(health rollout.Health, message string) seen {
	a := &status.Application{Status: status.Status{
		Health:         status.Health{Status: string(health)},
		OperationState: &status.OperationState{Phase: status.Succeeded, StartedAt: time.Unix(1, 0), SyncResult: &status.SyncResult{Revision: revision}},
	}}
	j := status.Judgement{Health: health, Revision: revision, Message: message}
	if health != rollout.Healthy {
		j.Code = status.ObjectHealth
	}
	return seen{application: a, judgement: j}
}

func drifted() seen {
	s := applied(rollout.Healthy, "")
	s.application.Status.Sync.Status = status.OutOfSync
	s.judgement = status.Judgement{Health: rollout.Progressing, Code: status.NotSynced, Message: "is out of sync"}
	return s
}

func failed(message string) seen {
	return seen{
		application: &status.Application{Status: status.Status{OperationState: &status.OperationState{Phase: status.Failed, StartedAt: time.Unix(1, 0), RetryCount: 2}}},
		judgement:   status.Judgement{Health: rollout.Degraded, Code: status.OperationFailed, Message: message, Final: true, Revision: revision},
	}
}

func retries(message string) seen {
	s := running()
	s.application.Status.OperationState.RetryCount = 1
	s.judgement = status.Judgement{Health: rollout.Progressing, Code: status.RetryWaits, Message: message}
	return s
}

func outOfSync() seen {
	return seen{judgement: status.Judgement{Health: rollout.Progressing, Code: status.NotSynced, Message: "is out of sync"}}
}

// told are the transitions: "component from to: reason".
func (p *scenario) told() []string {
	var all []string
	for _, t := range p.follower.Transitions() {
		all = append(all, strings.TrimSuffix(fmt.Sprintf("%s %s %s: %s", t.Component, t.From, t.To, t.Reason), ": "))
	}
	return all
}

func (p *scenario) want(result rollout.Result, transitions ...string) {
	p.t.Helper()
	if diff := cmp.Diff(transitions, p.told()); diff != "" {
		p.t.Errorf("transitions (-want +got):\n%s", diff)
	}
	if got := p.follower.Result(); got != result {
		p.t.Errorf("result %q, want %q", got, result)
	}
}

func TestEverythingTurnsHealthy(t *testing.T) {
	p := newScenario(t).see("db", outOfSync()).see("api", outOfSync()).
		see("db", running()).see("db", applied(rollout.Progressing, "0 of 1 ready")).see("db", applied(rollout.Healthy, "")).
		see("api", running()).see("api", applied(rollout.Healthy, ""))
	p.want(rollout.Succeeded,
		"db blocked syncing", "db syncing progressing", "db progressing healthy",
		"api blocked syncing", "api syncing progressing", "api progressing healthy")
	db, _ := p.follower.Component("db")
	api, _ := p.follower.Component("api")
	if api.UnblockedAt != db.HealthyAt || !api.StartedAt.After(db.HealthyAt) || api.Attempt != 1 || p.follower.BlockedBy("api") != nil {
		t.Errorf("db %+v\napi %+v", db, api)
	}
}

// RollingSync does not start what is behind a failure: the rollout is over when
// nothing has moved for a while, and says what waits for what.
func TestFailureBlocksTheRest(t *testing.T) {
	p := newScenario(t).see("db", running()).see("db", retries("no matches for kind")).see("db", failed("no matches for kind"))
	if p.wait(9 * time.Second).follower.Ended() {
		t.Fatal("over before it is quiet")
	}
	p.wait(time.Second).want(rollout.ResultFailed,
		"db blocked syncing", "db syncing retrying: no matches for kind", "db retrying failed: no matches for kind")
	want := []rollout.Blocker{{Kind: rollout.OnStep, Component: "db", Reason: "failed: no matches for kind"}}
	if diff := cmp.Diff(want, p.follower.BlockedBy("api")); diff != "" {
		t.Errorf("blocked by (-want +got):\n%s", diff)
	}
	if db, _ := p.follower.Component("db"); db.Attempt != 3 {
		t.Errorf("attempts: %d", db.Attempt)
	}
}

func TestTimeout(t *testing.T) {
	p := newScenario(t).see("db", running()).see("db", applied(rollout.Progressing, "0 of 1 ready")).wait(time.Minute).wait(10 * time.Second)
	p.want(rollout.ResultFailed,
		"db blocked syncing", "db syncing progressing", "db progressing timed-out: not Healthy after 1m0s: 0 of 1 ready")
}

// The time of a component stands still while it waits for the controllers alone,
// but not for ever.
func TestControllersLag(t *testing.T) {
	waits := seen{judgement: status.Judgement{Health: rollout.Progressing, Code: status.OperationWaits, Message: "waits for the controller"}}
	p := newScenario(t).see("db", waits).wait(2*time.Minute).see("db", running()).wait(59*time.Second).see("db", applied(rollout.Healthy, ""))
	if db, _ := p.follower.Component("db"); db.Status != rollout.Done {
		t.Errorf("%s: %s", db.Status, db.Message)
	}
	p = newScenario(t).see("db", waits).wait(5 * time.Minute)
	if db, _ := p.follower.Component("db"); db.Status != rollout.TimedOut {
		t.Errorf("%s: %s", db.Status, db.Message)
	}
}

// Argo CD knows no timeouts: what it starts after one is not waited for.
func TestGoesOnBehindATimeout(t *testing.T) {
	p := newScenario(t).see("db", running()).wait(time.Minute)
	p.see("db", applied(rollout.Healthy, "")).see("api", running()).wait(10 * time.Second)
	p.want(rollout.ResultFailed,
		"db blocked syncing", "db syncing timed-out: not Healthy after 1m0s: the sync runs",
		"api blocked syncing: started behind db, which timed out here: Argo CD knows no timeouts")
}

// What starts although an earlier step is not Healthy is told; and where Argo CD
// itself took an old health for the new one, that is told.
func TestStartsTooEarly(t *testing.T) {
	p := newScenario(t).see("db", running()).see("api", running())
	p.want(rollout.Running, "db blocked syncing", "api blocked syncing: started although db of earlier steps is not Healthy")
	stale := running()
	stale.application.Status.Health.Status = string(rollout.Healthy)
	p = newScenario(t).see("db", stale).see("api", running())
	p.want(rollout.Running, "db blocked syncing",
		"api blocked syncing: started while db of earlier steps is still synced: Argo CD took the health before the sync for that after it")
}

// A wave that Argo CD has passed counts as passed, also when what it passed is not
// Healthy any more.
func TestPassedOnce(t *testing.T) {
	stale, later := running(), running()
	stale.application.Status.Health.Status, later.application.Status.Health.Status = string(rollout.Healthy), string(rollout.Progressing)
	p := newScenario(t).see("db", stale).see("db", later).see("api", running())
	p.want(rollout.Running, "db blocked syncing",
		"api blocked syncing: started while db of earlier steps is still synced: Argo CD took the health before the sync for that after it")
}

// What was Healthy and is not any more holds nothing up, which is told as such.
func TestStartsBehindARegression(t *testing.T) {
	p := newScenario(t).see("db", running()).see("db", applied(rollout.Healthy, "")).see("db", applied(rollout.Degraded, "0 of 1 ready")).see("api", running())
	p.want(rollout.Running, "db blocked syncing", "db syncing progressing", "db progressing healthy", "db healthy regressed: 0 of 1 ready",
		"api blocked syncing: started while db of earlier steps is not Healthy any more: Argo CD does not look back at what it has passed")
}

// Two changes at one moment may be told in any order.
func TestSeenAtOnce(t *testing.T) {
	p := newScenario(t).see("db", running())
	healthy, start := applied(rollout.Healthy, ""), running()
	start.application.Ref = status.Ref{Namespace: "argocd", Name: "api"}
	p.fleet["db"], p.fleet["api"] = &healthy, &start
	p.follower.Look(p.fleet, p.now, "api", "db")
	p.want(rollout.Running, "db blocked syncing", "db syncing progressing", "db progressing healthy", "api blocked syncing")
}

func TestRegression(t *testing.T) {
	p := newScenario(t).see("db", applied(rollout.Healthy, "")).see("db", running()).see("db", drifted()).see("db", applied(rollout.Degraded, "crashes"))
	p.want(rollout.Running,
		"db blocked syncing", "db syncing progressing", "db progressing healthy", "db healthy regressed: crashes")
	p.see("db", applied(rollout.Healthy, ""))
	if db, _ := p.follower.Component("db"); db.Status != rollout.Done {
		t.Errorf("status %s", db.Status)
	}
}

// What others write into objects is drift, not a lack of health.
func TestDrift(t *testing.T) {
	p := newScenario(t).see("db", running()).see("db", drifted())
	p.want(rollout.Running, "db blocked syncing", "db syncing progressing", "db progressing healthy")
}

// What Argo CD never starts fails after a while, with what it says.
func TestNothingStarts(t *testing.T) {
	refused := seen{judgement: status.Judgement{Health: rollout.Unknown, Code: status.InvalidSpec, Message: "application references project platform which does not exist"}}
	p := newScenario(t).see("db", refused).wait(89 * time.Second).wait(2 * time.Second).wait(10 * time.Second)
	p.want(rollout.ResultFailed, "db blocked failed: Argo CD does not start it: application references project platform which does not exist")
}

// While the sync of the root waits for its retry, the rollout is not given up; and
// what the root says is told of Applications that it never made.
func TestRootRetries(t *testing.T) {
	p := newScenario(t).see("root", retries("one or more synchronization tasks failed"))
	if p.wait(5 * time.Minute).follower.Ended() {
		t.Fatal("given up while the root waits for its retry")
	}
	if p.see("root", running()).wait(80 * time.Second).follower.Ended() {
		t.Fatal("given up as soon as the root is tried again")
	}
	p.wait(20 * time.Second).wait(10 * time.Second)
	p.want(rollout.ResultFailed, "db blocked failed: Argo CD does not start it: root: the sync runs")
}

// An Application that applies others is under way as long as they are: they do not
// wait for it, and it does not time out.
func TestSpanningApplication(t *testing.T) {
	spanning := func() *scenario {
		p := newScenario(t)
		p.follower = tracker.New(rollout.Spec{
			Revision: revision, Steps: []rollout.StepSpec{{Label: "0"}, {Label: "1"}},
			Components: []rollout.ComponentSpec{{Name: "db", Timeout: time.Minute}, {Name: "api", Step: 1}},
		}, tracker.Options{
			Applications: map[string]status.Ref{"db": {Namespace: "argocd", Name: "db"}, "api": {Namespace: "argocd", Name: "api"}},
			Spanning:     map[string]bool{"db": true}, Patience: 90 * time.Second,
		}, p.now)
		return p.see("db", running()).wait(80 * time.Second)
	}
	spanning().see("api", running()).see("api", applied(rollout.Healthy, "")).see("db", applied(rollout.Healthy, "")).want(rollout.Succeeded,
		"db blocked syncing", "api blocked syncing", "api syncing progressing", "api progressing healthy", "db syncing progressing", "db progressing healthy")
	spanning().wait(11*time.Second).wait(0).want(rollout.ResultFailed,
		"db blocked syncing", "api blocked failed: Argo CD does not start it: the Application does not exist")
	spanning().see("api", applied(rollout.Healthy, "")).wait(90*time.Second).wait(0).want(rollout.ResultFailed,
		"db blocked syncing", "api blocked syncing", "api syncing progressing", "api progressing healthy", "db syncing failed: the sync runs")
}

func TestWholeRolloutTimesOut(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	f := tracker.New(rollout.Spec{Timeout: time.Minute, Steps: []rollout.StepSpec{{}}, Components: []rollout.ComponentSpec{{Name: "db"}}},
		tracker.Options{Patience: time.Hour}, now)
	f.Look(fleet{}, now.Add(59*time.Second))
	if f.Ended() {
		t.Error("ended early")
	}
	if f.Look(fleet{}, now.Add(time.Minute)); f.Result() != rollout.ResultTimedOut {
		t.Errorf("result %q", f.Result())
	}
}

func TestAbort(t *testing.T) {
	p := newScenario(t).see("db", running())
	p.follower.Abort(p.now)
	p.want(rollout.ResultAborted, "db blocked syncing", "db syncing aborted: aborted")
}
