package rehearse

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/kube/engine"
	"github.com/rollout-ladder/ladder/internal/kube/smoke"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/run/session"
	"github.com/rollout-ladder/ladder/internal/store"
)

const (
	// degradedGrace is how long a component may stay Degraded, before the
	// division by the speed, until its attempt counts as failed.
	degradedGrace = 30 * time.Minute
	// smokeInterval is how long a smoke that does not hold waits before it runs
	// again, in simulated time; leastSmokeInterval is in real time.
	smokeInterval      = 12 * time.Second
	leastSmokeInterval = 200 * time.Millisecond
	// stateFolder holds the state of the rollout in the plane's folder.
	stateFolder = "rollout"
)

// Rehearsal is the outcome of a rehearsal.
type Rehearsal struct {
	Report report.Rollout
	// Interrupted is set when the context ended first; the state is saved if the
	// plane is kept.
	Interrupted bool
	// Findings are those that the report does not hold.
	Findings []finding.Finding
}

// Run rehearses a platform. An error means that there was nothing to rehearse
// or that it could not be run; a rollout that fails is a Rehearsal.
func Run(ctx context.Context, o Options) (Rehearsal, error) {
	world := newTarget(o)
	// The plane needs a second; rendering goes on meanwhile. It goes on too where
	// the plane does not start: a mistake in the repository is told first.
	var opening errgroup.Group
	loading, unneeded := context.WithCancel(ctx)
	defer unneeded()
	opened := make(chan struct{})
	opening.Go(func() error {
		select {
		case <-opened:
			return world.open(loading)
		case <-loading.Done():
			return loading.Err() // there is nothing to rehearse
		}
	})
	piece := o.piece()
	piece.Load.Opened = func() { close(opened) }
	loaded, planned, err := session.Prepare(ctx, piece, o.Observer)
	if err == nil {
		err = o.check(loaded)
	}
	if err != nil {
		unneeded()
	}
	if failed := opening.Wait(); err == nil {
		err = failed
	}
	defer world.close()
	if err != nil {
		world.discard()
		return Rehearsal{}, err
	}
	loaded.Findings = append(loaded.Findings, session.Spread(loaded.Platform.Components)...)
	loaded.Findings = append(loaded.Findings, session.ParentsAtOnce(loaded)...)
	loaded.Findings = slices.Concat(loaded.Findings, toldOfOLM(loaded), toldOfClasses(loaded))
	loaded.Findings = session.Judged(loaded, o.Policy)
	return world.runWhileUp(ctx, loaded, planned)
}

// target is where the rehearsal plays: a plane and the state on it.
type target struct {
	options Options
	plane   *plane.Plane
	store   *store.Folder
	// kept is set when the plane outlives the rehearsal, started when it was not
	// there before.
	kept, started bool
	// clock is that of the rollout: it stands still while the plane is silent.
	clock *session.Clock
}

func newTarget(o Options) *target { return &target{options: o, kept: o.Keep || o.Plane != ""} }

// open gets the plane and locks the state on it.
func (s *target) open(ctx context.Context) error {
	s.options.Observer.Stage("starting a control plane")
	if err := s.openPlane(ctx); err != nil {
		return &PlaneError{Err: err}
	}
	var err error
	s.store, err = store.Open(filepath.Join(s.plane.Dir, stateFolder), store.Options{
		Volatile: true, Owner: "ladder rehearse " + s.options.Path, Now: s.options.Now,
	})
	return err
}

// keptName is the name of the plane that --keep leaves running where none is
// named.
const keptName = "rehearsal"

func (s *target) openPlane(ctx context.Context) (err error) {
	if !s.kept {
		s.plane, err = plane.Start(ctx, plane.Options{})
		return err
	}
	registry, err := plane.DefaultRegistry()
	if err != nil {
		return err
	}
	name := cmp.Or(s.options.Plane, keptName)
	if s.options.Resume {
		// A plane that is down took its rollout along.
		s.plane, err = registry.Get(ctx, name)
		return err
	}
	s.plane, s.started, err = registry.Up(ctx, name, plane.Options{})
	return err
}

// discard takes a plane down that was started to be kept for a rehearsal that
// cannot take place.
func (s *target) discard() {
	if s.plane == nil || !s.started {
		return
	}
	if registry, err := plane.DefaultRegistry(); err == nil {
		// What is wrong with the input matters more than a plane that stays; it is
		// listed by ladder plane list.
		_ = registry.Down(context.Background(), s.plane.Name)
	}
}

// close ends a throwaway plane, also after an error or an interrupt.
func (s *target) close() {
	if s.store != nil {
		_ = s.store.Close() // the lock ends with the process at the latest
	}
	if s.plane != nil && !s.kept {
		// The plane ends with this process at the latest.
		_ = s.plane.Stop(context.Background())
	}
}

// runWhileUp runs until the plane ends or falls silent, which ends everything:
// without it the rollout would wait for a cluster that never answers again, and
// blame the components that it waits for.
func (s *target) runWhileUp(ctx context.Context, loaded *analysis.Result, planned *plan.Plan) (Rehearsal, error) {
	access, err := s.plane.RESTConfig()
	if err != nil {
		return Rehearsal{}, err
	}
	ask, err := session.AskReady(access)
	if err != nil {
		return Rehearsal{}, err
	}
	s.clock = session.NewClock(s.options.Now)
	work, stop := context.WithCancel(ctx)
	defer stop()
	ended, silent := make(chan bool, 1), make(chan time.Duration, 1)
	go func() {
		gone := s.plane.AwaitEnd(work)
		stop()
		ended <- gone
	}()
	go func() {
		d := (&session.Liveness{Ask: ask, Clock: s.clock, Now: s.options.Now, Limit: silenceLimit}).Watch(work)
		stop()
		silent <- d
	}()
	run := s.run
	if s.options.Engine == EngineArgoCD {
		run = s.runArgo
	}
	r, err := run(work, access, loaded, planned)
	stop()
	gone, mute := <-ended, <-silent
	switch {
	case err == nil && !r.Interrupted:
		return r, nil
	case gone:
		return Rehearsal{}, &PlaneEndedError{PID: s.plane.PID, Reason: s.plane.LastWords()}
	case mute > 0:
		return Rehearsal{}, &PlaneSilentError{PID: s.plane.PID, Server: s.plane.Server, For: mute, Kept: s.kept}
	}
	return r, err
}

// run runs the rollout on the open target.
func (s *target) run(ctx context.Context, access *rest.Config, loaded *analysis.Result, planned *plan.Plan) (Rehearsal, error) {
	o := s.options
	options := s.specOptions(loaded)
	spec, err := planned.Spec(options)
	if err != nil {
		return Rehearsal{}, err
	}
	config, err := worldConfig(loaded, planned, o)
	if err != nil {
		return Rehearsal{}, err
	}
	if err := applyConfig(ctx, access, config, loaded.Platform.Namespaces); err != nil {
		return Rehearsal{}, fmt.Errorf("set up the simulated world: %w", err)
	}
	if err := applyOLM(ctx, access, loaded); err != nil {
		return Rehearsal{}, fmt.Errorf("set up the simulated world: %w", err)
	}
	if err := applyClasses(ctx, access, loaded); err != nil {
		return Rehearsal{}, fmt.Errorf("set up the simulated world: %w", err)
	}
	saved, err := s.lastSaved()
	if err != nil {
		return Rehearsal{}, err
	}
	times, err := s.times(access, saved)
	if err != nil {
		return Rehearsal{}, err
	}
	engine, err := s.nativeEngine(ctx, times.counted(access), loaded, session.Enabled(loaded), spec, times)
	if err != nil {
		return Rehearsal{}, err
	}
	defer engine.Close()
	times.follow(engine)
	vanished, err := engine.Vanished(ctx)
	if err != nil {
		return Rehearsal{}, err
	}
	spec.Remove = planned.Removals(vanished, options)
	title := "rolling out " + finding.Count(len(spec.Components), "component")
	if o.skips() {
		title += "; idle time is skipped, so times are simulated from here on"
	}
	o.Observer.Stage(title)
	control := o.Control
	if o.skips() {
		control = bounded(ctx, control, o.Timeout)
	}
	tell := sync.OnceFunc(func() { s.tell(loaded) })
	began := time.Now()
	end, err := times.begin(ctx)
	if err != nil {
		return Rehearsal{}, err
	}
	outcome, err := session.Run(ctx, o.Observer, loaded, planned, o.scale(), executor.Config{
		Spec: spec, Engine: engine, Store: s.store, Start: executor.Mode(o.Resume, o.Fresh), Control: control,
		Clock: times.rollout, Deadlines: times.deadlines, Sink: func(executor.Notice) { times.notice(); tell() },
	})
	end()
	if err != nil {
		return Rehearsal{}, err
	}
	r := Rehearsal{Interrupted: outcome.Interrupted}
	r.Report = session.Report(loaded, planned, outcome, session.Conditions{Engine: EngineNative, Seed: o.Seed, Speed: o.scale()})
	o.judge(&r, loaded.Findings)
	if o.skips() {
		r.Report.RealSeconds = time.Since(began).Seconds()
	}
	r.Report.PlaneReadySeconds = s.plane.ReadyAfter.Seconds()
	if s.kept {
		r.Report.Kubeconfig = s.plane.Kubeconfig
	}
	return r, nil
}

// specOptions are those of the rollout at a revision.
func (s *target) specOptions(loaded *analysis.Result) plan.SpecOptions {
	o := s.options
	spec := plan.SpecOptions{
		Revision: session.Revision(loaded), Unrendered: session.Lacking(loaded), OnFailure: o.OnFailure, Speed: o.scale(), TimeoutFloor: o.LeastTimeout,
		Timeout: o.Timeout, MaxInFlight: o.MaxInFlight, DegradedGrace: degradedGrace,
		// What did not become Healthy once does not a second time on a plane.
		MaxTimeouts: 1,
	}
	if o.skips() {
		spec.TimeoutFloor, spec.Timeout = 0, 0 // in real time, which the rollout does not know
	}
	return spec
}

// nativeEngine is Ladder's own engine for some of the components.
func (s *target) nativeEngine(ctx context.Context, access *rest.Config, loaded *analysis.Result, components []model.Component, spec rollout.Spec, t *times) (*engine.Engine, error) {
	assessor, err := session.Assessor(ctx, loaded, s.options.Now)
	if err != nil {
		return nil, err
	}
	engine, err := engine.New(ctx, engine.Config{
		RESTConfig: access, Components: components, Objects: loaded.Objects, Revision: spec.Revision,
		Scope: loaded.Platform.Environment, Requires: session.Requirements(spec),
		Smoke: smoke.Options{Simulated: true, Now: s.options.Now}, SmokeInterval: s.options.smokeInterval(), QPS: -1,
		Clock: t.engine, Server: t.server, Health: assessor,
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the engine: %w", err)
	}
	return engine, nil
}

// PlaneError says that the control plane could not be started.
type PlaneError struct{ Err error }

// Error implements error.
func (e *PlaneError) Error() string { return "start the control plane: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PlaneError) Unwrap() error { return e.Err }

// PlaneEndedError says that the control plane's process ended during the
// rollout: it was killed, or the machine had no memory left for it.
type PlaneEndedError struct {
	PID int
	// Reason is what the plane said last; empty for one that was killed.
	Reason string
}

// Error implements error.
func (e *PlaneEndedError) Error() string {
	if e.Reason != "" {
		return "the control plane ended in the middle of the rollout: " + e.Reason
	}
	return fmt.Sprintf("the control plane ended in the middle of the rollout: its process %d is gone, killed or out of memory", e.PID)
}
