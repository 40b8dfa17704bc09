package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/argocd/engine"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/store"
	"github.com/rollout-ladder/ladder/internal/store/incluster"
)

// The engines.
const (
	Native = "native"
	ArgoCD = "argocd"
)

const (
	// degradedGrace is how long a component may stay Degraded until its attempt
	// counts as failed.
	degradedGrace = 30 * time.Minute
	// clusterSilence is how long a cluster may answer nothing until the run ends; a
	// control plane that is upgraded is away for minutes.
	clusterSilence = 10 * time.Minute
	// lastWords bounds what is written after the end of a run.
	lastWords = 30 * time.Second
)

// ClusterOptions say what is rolled out to which cluster, and how.
type ClusterOptions struct {
	Piece
	OnFailure rollout.FailurePolicy
	Timeout   time.Duration // of the whole rollout; 0 means no bound

	REST *rest.Config
	// Simulated is set where the cluster is a plane; InCluster where the command
	// runs in a pod of it.
	Simulated, InCluster bool
	Engine               string // Native or ArgoCD
	// ArgoNamespace and Revision are for the engine ArgoCD: where it runs, and the
	// commit that is rolled out. SelfHeal is when Applications get their automated
	// sync back.
	ArgoNamespace, Revision string
	SelfHeal                engine.SelfHeal

	// Choose returns the components that are rolled out; nil for all.
	Choose func(*analysis.Result) ([]model.Component, error)
	// Spread lets the engine Native bring to the one cluster what goes to several.
	Spread bool
	// KeepRemoved leaves what the repository lacks since the last rollout.
	KeepRemoved   bool
	Resume, Fresh bool

	Control  chan rollout.Event
	Observer Observer
	Now      func() time.Time
	// Owner says for others who runs it.
	Owner string
}

// Performance is the outcome of a rollout on a cluster.
type Performance struct {
	Report report.Rollout
	// Interrupted is set when the context ended first; the state is saved.
	Interrupted bool
	Loaded      *analysis.Result
	// HistoryError is why the report is not in the history of the cluster.
	HistoryError error
}

// ClusterSilentError says that the API server stopped answering.
type ClusterSilentError struct {
	Server string
	For    time.Duration
}

// Error implements error.
func (e *ClusterSilentError) Error() string {
	return fmt.Sprintf("the cluster stopped answering in the middle of the rollout: nothing came from %s for %s; no component is to blame (when it answers again, go on with --resume)",
		e.Server, e.For.Round(time.Second))
}

// OnCluster rolls a platform out to a cluster, with the state of the rollout in
// the cluster. An error means that it could not be run; a rollout that fails is
// a Performance.
func OnCluster(ctx context.Context, o ClusterOptions) (Performance, error) {
	loaded, planned, err := Prepare(ctx, o.Piece, o.Observer)
	if err != nil {
		return Performance{}, err
	}
	selected, err := o.selected(loaded)
	if err != nil {
		return Performance{}, err
	}
	if o.Engine != ArgoCD {
		loaded.Findings = append(loaded.Findings, ParentsAtOnce(loaded)...)
		finding.Sort(loaded.Findings)
	}
	cluster, err := incluster.Connect(o.REST, o.Now)
	if err != nil {
		return Performance{}, err
	}
	key := KeyOf(loaded.Platform)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	o.Observer.Stage("locking the rollout " + key.String())
	state, err := incluster.Open(ctx, cluster, key, incluster.Options{Owner: o.Owner, Waiting: o.waiting, Lost: end})
	if err != nil {
		return Performance{}, err
	}
	defer func() { _ = state.Close() }() // the lease ends by itself at the latest
	// Whatever talks to the cluster from here on writes under the lease only.
	if o.REST, err = state.Access(o.REST); err != nil {
		return Performance{}, err
	}
	p := Performance{Loaded: loaded}
	outcome, err := o.drive(ctx, end, state, loaded, planned, selected, key)
	var lost *incluster.LeaseLostError
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &lost):
		return Performance{}, lost
	case errors.As(cause, new(*ClusterSilentError)):
		return Performance{}, cause
	case err != nil:
		return Performance{}, err
	}
	p.Interrupted = outcome.Interrupted
	p.Report = Report(loaded, planned, outcome, Conditions{Engine: o.Engine, Speed: 1})
	if !p.Interrupted {
		p.HistoryError = keepHistory(ctx, state, p.Report)
	}
	return p, nil
}

// waiting tells why a run that finds another one does not begin.
func (o ClusterOptions) waiting(h store.Holder, d time.Duration) {
	o.Observer.Stage(fmt.Sprintf("waiting for %s to renew its lease, %s at most, after which it is taken for gone", h, d))
}

// selected are the names of the components that are rolled out; nil for all.
func (o ClusterOptions) selected(loaded *analysis.Result) (map[string]bool, error) {
	var names map[string]bool
	if o.Choose != nil {
		chosen, err := o.Choose(loaded)
		if err != nil {
			return nil, err
		}
		names = map[string]bool{}
		for _, c := range chosen {
			names[c.Name] = true
		}
	}
	if clusters := clustersOf(loaded.Platform.Components, names); len(clusters) > 1 && o.Engine != ArgoCD && !o.Spread {
		return nil, &SeveralClustersError{Clusters: clusters}
	}
	return names, nil
}

// drive runs the rollout.
func (o ClusterOptions) drive(ctx context.Context, end context.CancelCauseFunc, state *incluster.Store, loaded *analysis.Result, planned *plan.Plan, selected map[string]bool, key incluster.Key) (executor.Outcome, error) {
	clock := NewClock(o.Now)
	target, err := o.openTarget(ctx, clock, loaded, planned, key, selected)
	if err != nil {
		return executor.Outcome{}, err
	}
	defer target.close()
	ask, err := AskReady(o.REST)
	if err != nil {
		return executor.Outcome{}, err
	}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	go func() {
		if d := (&Liveness{Ask: ask, Clock: clock, Now: o.Now, Limit: clusterSilence}).Watch(watching); d > 0 {
			end(&ClusterSilentError{Server: o.REST.Host, For: d})
		}
	}()

	control := make(chan rollout.Event)
	requests := newSteering(target.spec, control)
	go forward(watching, o.Control, control)
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := state.Serve(watching, func(r incluster.Request) incluster.Answer { return requests.take(watching, r) }); err != nil {
			o.Observer.Stage("requests of people are not taken: " + err.Error())
		}
	}()

	o.Observer.Stage("rolling out " + finding.Count(len(target.spec.Components), "component"))
	outcome, err := Run(ctx, o.Observer, loaded, planned, 1, executor.Config{
		Spec: target.spec, Engine: target.engine, Store: state, Start: executor.Mode(o.Resume, o.Fresh), Control: control, Clock: clock,
		Reopen: reopen, Sink: requests.notice,
	})
	close(requests.ended)
	stopWatching()
	<-served
	if err != nil {
		return outcome, err
	}
	return outcome, target.end(ctx, outcome)
}

// forward passes on what the helm of this command asks for.
func forward(ctx context.Context, from <-chan rollout.Event, to chan<- rollout.Event) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-from:
			select {
			case to <- e:
			case <-ctx.Done():
				return
			}
		}
	}
}

// reopen takes up a rollout that has ended: one that was aborted goes on, and
// what failed gets a fresh start.
func reopen(state rollout.State) []rollout.Event {
	switch state.Result {
	case rollout.ResultAborted:
		return []rollout.Event{rollout.Resume{}}
	case rollout.ResultFailed, rollout.ResultTimedOut:
		return []rollout.Event{rollout.Retry{}}
	default:
		return nil
	}
}

// keepHistory writes the report into the history of the cluster.
func keepHistory(ctx context.Context, state *incluster.Store, r report.Rollout) error {
	var text bytes.Buffer
	if err := report.JSON(&text, r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	return state.SaveHistory(ctx, time.Time(r.Finished), text.Bytes())
}
