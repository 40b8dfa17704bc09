package rehearse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/drive"
	"github.com/rollout-ladder/ladder/internal/engine/native"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/health"
	"github.com/rollout-ladder/ladder/internal/intake"
	"github.com/rollout-ladder/ladder/internal/load"
	"github.com/rollout-ladder/ladder/internal/plan"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/report"
	"github.com/rollout-ladder/ladder/internal/rollout"
	"github.com/rollout-ladder/ladder/internal/smoke"
	"github.com/rollout-ladder/ladder/internal/store"
)

const (
	// degradedGrace is how long a component may stay Degraded, before the
	// division by the speed, until its attempt counts as failed.
	degradedGrace = 30 * time.Minute
	// smokeInterval is how long a smoke that does not hold waits before it runs
	// again.
	smokeInterval = 200 * time.Millisecond
	// stateFolder holds the state of the rollout in the plane's folder.
	stateFolder = "rollout"
)

// Rehearsal is the outcome of a rehearsal.
type Rehearsal struct {
	Report report.Rollout
	// Interrupted is set when the context ended first; the state is saved if the
	// plane is kept.
	Interrupted bool
	// Loaded is what was rehearsed.
	Loaded *load.Result
}

// Run rehearses a platform. An error means that there was nothing to rehearse
// or that it could not be run; a rollout that fails is a Rehearsal.
func Run(ctx context.Context, o Options) (Rehearsal, error) {
	world := newStage(o)
	group, loading := errgroup.WithContext(ctx)
	var loaded *load.Result
	var planned *plan.Plan
	group.Go(func() (err error) {
		loaded, planned, err = prepare(loading, o)
		return err
	})
	// The plane needs two seconds; rendering goes on meanwhile.
	group.Go(func() error { return world.open(loading) })
	err := group.Wait()
	defer world.close()
	if err != nil {
		world.forsake()
		return Rehearsal{}, err
	}
	return world.playWhileUp(ctx, loaded, planned)
}

// prepare reads, renders and plans.
func prepare(ctx context.Context, o Options) (*load.Result, *plan.Plan, error) {
	o.Observer.Stage("reading " + o.Path)
	options := o.Load
	options.Progress = o.Observer.Counted
	loaded, err := load.Load(ctx, o.Path, options)
	if err != nil {
		return nil, nil, err
	}
	if err := refuse(loaded, o); err != nil {
		return nil, nil, err
	}
	var ignore *native.IgnoreError
	if errors.As(native.CheckIgnored(enabled(loaded)), &ignore) {
		return nil, nil, &intake.InputError{Position: ignore.Position, Message: "component " + ignore.Component + ": " + ignore.Message}
	}
	loaded.Findings = append(loaded.Findings, native.Notes(enabled(loaded), loaded.Objects)...)
	_, wrong := argoScripts(loaded)
	loaded.Findings = append(loaded.Findings, wrong...)
	finding.Sort(loaded.Findings)
	planned, err := plan.Build(PlanInput(loaded, o.Policy, o.Durations, o.MaxInFlight))
	if err != nil {
		return nil, nil, fmt.Errorf("plan the rollout: %w", err)
	}
	if o.Check != nil {
		if err := o.Check(planned); err != nil {
			return nil, nil, err
		}
	}
	return loaded, planned, nil
}

// stage is where the rehearsal plays: a plane and the state on it.
type stage struct {
	options Options
	plane   *plane.Plane
	store   *store.Folder
	// kept is set when the plane outlives the rehearsal, started when it was not
	// there before.
	kept, started bool
	// clock is that of the rollout: it stands still while the plane is silent.
	clock *standingClock
}

func newStage(o Options) *stage { return &stage{options: o, kept: o.Keep || o.Plane != ""} }

// open gets the plane and locks the state on it.
func (s *stage) open(ctx context.Context) error {
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

func (s *stage) openPlane(ctx context.Context) (err error) {
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

// forsake takes a plane down that was started to be kept for a rehearsal that
// cannot take place.
func (s *stage) forsake() {
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
func (s *stage) close() {
	if s.store != nil {
		_ = s.store.Close() // the lock ends with the process at the latest
	}
	if s.plane != nil && !s.kept {
		// The plane ends with this process at the latest.
		_ = s.plane.Stop(context.Background())
	}
}

// playWhileUp plays until the plane ends or falls silent, which ends everything:
// without it the rollout would wait for a cluster that never answers again, and
// blame the components that it waits for.
func (s *stage) playWhileUp(ctx context.Context, loaded *load.Result, planned *plan.Plan) (Rehearsal, error) {
	access, err := s.plane.RESTConfig()
	if err != nil {
		return Rehearsal{}, err
	}
	ask, err := askReady(access)
	if err != nil {
		return Rehearsal{}, err
	}
	s.clock = newStandingClock(s.options.Now)
	work, stop := context.WithCancel(ctx)
	defer stop()
	ended, silent := make(chan bool, 1), make(chan time.Duration, 1)
	go func() {
		gone := s.plane.AwaitEnd(work)
		stop()
		ended <- gone
	}()
	go func() {
		d := (&pulse{ask: ask, clock: s.clock, now: s.options.Now}).watch(work)
		stop()
		silent <- d
	}()
	r, err := s.play(work, access, loaded, planned)
	stop()
	gone, mute := <-ended, <-silent
	switch {
	case err == nil && !r.Interrupted:
		return r, nil
	case gone:
		return Rehearsal{}, &PlaneEndedError{PID: s.plane.PID}
	case mute > 0:
		return Rehearsal{}, &PlaneSilentError{PID: s.plane.PID, Server: s.plane.Server, For: mute, Kept: s.kept}
	}
	return r, err
}

// play runs the rollout on the open stage.
func (s *stage) play(ctx context.Context, access *rest.Config, loaded *load.Result, planned *plan.Plan) (Rehearsal, error) {
	o := s.options
	revision := Revision(loaded)
	options := plan.SpecOptions{
		Revision: revision, OnFailure: o.OnFailure, Speed: o.Speed, TimeoutFloor: o.LeastTimeout,
		Timeout: o.Timeout, MaxInFlight: o.MaxInFlight, DegradedGrace: degradedGrace,
		// What did not become Healthy once does not a second time on a plane.
		MaxTimeouts: 1,
	}
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
	scripts, _ := argoScripts(loaded)
	assessor, err := health.New(health.WithClock(o.Now), health.WithScripts(scripts))
	if err != nil {
		return Rehearsal{}, fmt.Errorf("read the health scripts: %w", err)
	}
	engine, err := native.New(native.Config{
		RESTConfig: access, Components: enabled(loaded), Objects: loaded.Objects, Revision: revision,
		Scope: loaded.Platform.Environment, Requires: requirements(spec),
		Smoke: smoke.Options{Simulated: true, Now: o.Now}, SmokeInterval: smokeInterval, QPS: -1,
		Clock: s.clock, Health: assessor,
	})
	if err != nil {
		return Rehearsal{}, fmt.Errorf("prepare the engine: %w", err)
	}
	defer engine.Close()
	vanished, err := engine.Vanished(ctx)
	if err != nil {
		return Rehearsal{}, err
	}
	spec.Remove = planned.Removals(vanished, options)
	o.Observer.Stage(fmt.Sprintf("rolling out %d components", len(spec.Components)))
	audience := newAudience(o.Observer, loaded, planned, o.Speed, s.clock.Now)
	stop := audience.refresh(ctx)
	outcome, err := drive.Run(ctx, drive.Config{
		Spec: spec, Engine: engine, Store: s.store, Start: o.startMode(), Sink: audience.notice,
		Control: o.Control,
		Clock:   s.clock,
	})
	stop()
	if err != nil {
		return Rehearsal{}, fmt.Errorf("run the rollout: %w", err)
	}
	r := Rehearsal{Interrupted: outcome.Interrupted, Loaded: loaded}
	r.Report = newReport(loaded, planned, outcome, o)
	r.Report.Against = report.PlanDocument(planned, nil).Against
	r.Report.PlaneReadySeconds = s.plane.ReadyAfter.Seconds()
	if s.kept {
		r.Report.Kubeconfig = s.plane.Kubeconfig
	}
	return r, nil
}

// requirements are the gates of each component, which the plane remembers for
// the day on which the repository lacks it.
func requirements(spec rollout.Spec) map[string][]string {
	out := make(map[string][]string, len(spec.Components))
	for _, c := range spec.Components {
		out[c.Name] = c.Requires
	}
	return out
}

func (o Options) startMode() drive.StartMode {
	switch {
	case o.Fresh:
		return drive.StartFresh
	case o.Resume:
		return drive.StartResume
	default:
		return drive.StartAuto
	}
}

// enabled are the components that the engine may be asked for; those that could
// not be rendered stand in without objects.
func enabled(loaded *load.Result) []component.Component {
	var out []component.Component
	for _, c := range loaded.Platform.Components {
		if c.Enabled {
			out = append(out, c)
		}
	}
	return out
}

// PlaneError says that the control plane could not be started.
type PlaneError struct{ Err error }

// Error implements error.
func (e *PlaneError) Error() string { return "start the control plane: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PlaneError) Unwrap() error { return e.Err }

// PlaneEndedError says that the control plane's process ended during the
// rollout: it was killed, or the machine had no memory left for it.
type PlaneEndedError struct{ PID int }

// Error implements error.
func (e *PlaneEndedError) Error() string {
	return fmt.Sprintf("the control plane ended in the middle of the rollout: its process %d is gone, killed or out of memory", e.PID)
}

// PlanInput is the input of the plan of a loaded platform.
func PlanInput(loaded *load.Result, policy rollout.Policy, durations map[string]time.Duration, maxInFlight int) plan.Input {
	p := loaded.Platform
	all := map[string]time.Duration{}
	for name, d := range p.Simulation.Durations {
		all[name] = d
	}
	for name, d := range durations {
		all[name] = d
	}
	return plan.Input{
		Environment: p.Environment, Components: p.Components, Ladder: p.Ladder, Edges: loaded.Edges,
		Policy: policy, Durations: all, MaxInFlight: maxInFlight,
	}
}
