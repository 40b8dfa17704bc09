package rehearse

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/plane/argocd"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// EngineArgoCD is the real Argo CD; EngineNative Ladder's own engine.
const (
	EngineNative = "native"
	EngineArgoCD = "argocd"
)

const (
	// argoFolder holds what Argo CD writes, in the plane's folder.
	argoFolder = "argocd"
	// repositoryFolder is the snapshot, in that folder.
	repositoryFolder = "repository"
	// controllersShare is what Argo CD itself may take of the time from the start of
	// a component to Healthy, to make manifests and to apply them.
	controllersShare = 30 * time.Second
	// drivenShare is the same where Ladder drives: its timeouts also run while the
	// controllers have not taken a sync up, or have not compared after it, which those
	// of a rollout that is followed do not.
	drivenShare = 3 * time.Minute
	// clientQPS is what each controller may ask of the plane per second, which has
	// nobody else to serve.
	clientQPS = 500
	// reconcile is how often Argo CD looks at an Application without a reason. What
	// it reads does not change while it is rehearsed; but a change of the live
	// objects during a comparison is not noticed until the next one.
	reconcile = 15 * time.Second
)

// argoTarget is a target with Argo CD on it.
type argoTarget struct {
	*target
	access  *rest.Config
	loaded  *analysis.Result
	planned *plan.Plan
	spec    rollout.Spec

	installer *argocd.Installer
	setup     setup
	version   string
	// course is nil until there is something to report.
	course course
}

// course is how the Applications are rolled out: Argo CD is followed, or driven.
type course interface {
	// run lasts until there is nothing left to wait for.
	run(ctx context.Context) error
	// outcome is how it stands; interrupted until there is nothing left.
	outcome() executor.Outcome
}

// runArgo has the real Argo CD roll the platform out.
func (s *target) runArgo(ctx context.Context, access *rest.Config, loaded *analysis.Result, planned *plan.Plan) (Rehearsal, error) {
	a := &argoTarget{target: s, access: access, loaded: loaded, planned: planned}
	if err := a.prepare(ctx); err != nil {
		return a.outcome(ctx, err)
	}
	early, err := a.before(ctx)
	if err != nil {
		return a.outcome(ctx, err)
	}
	followed := a.followed(early)
	a.course = followed
	if early.result != rollout.Succeeded {
		outcome := followed.outcome()
		outcome.Interrupted = early.interrupted
		return a.report(outcome), nil
	}
	if s.options.Drive {
		a.course = &driven{argoTarget: a, early: early, stands: followed.outcome()}
	}
	s.options.Observer.Stage("starting Argo CD")
	argo, err := argocd.Start(ctx, argocd.Options{
		Executable: s.options.ArgoCD, Kubeconfig: s.plane.Kubeconfig, Dir: filepath.Join(s.plane.Dir, argoFolder, "run"), Namespace: a.setup.namespace,
		Reconcile: reconcile, ClientQPS: clientQPS, ObjectHealth: true, LogLevel: s.options.logLevel(),
		Confine: string(evaluate.Workers.Mode()), Offline: s.options.Load.Offline,
		Repositories: filepath.Join(s.plane.Dir, argoFolder, repositoryFolder),
	})
	if err != nil {
		return a.outcome(ctx, err)
	}
	defer argo.Stop()
	a.version = argo.Version
	work, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		err := argo.AwaitEnd(work)
		stop()
		ended <- err
	}()
	if err = a.installer.Apply(work, a.setup.objects); err == nil {
		err = a.course.run(work)
	}
	stop()
	if gone := <-ended; gone != nil && ctx.Err() == nil && a.course.outcome().Interrupted {
		return Rehearsal{}, gone
	}
	return a.outcome(ctx, err)
}

// outcome is the rehearsal as it stands, where nothing but an interrupt ended it.
func (a *argoTarget) outcome(ctx context.Context, err error) (Rehearsal, error) {
	if err != nil && ctx.Err() == nil {
		return Rehearsal{}, err
	}
	if a.course == nil {
		return Rehearsal{}, context.Cause(ctx)
	}
	return a.report(a.course.outcome()), nil
}

// prepare puts what Argo CD needs onto the plane, and makes the repository that
// it reads.
func (a *argoTarget) prepare(ctx context.Context) error {
	var err error
	if a.spec, err = a.planned.Spec(a.specOptions(a.loaded)); err != nil {
		return err
	}
	folder := filepath.Join(a.plane.Dir, argoFolder)
	if err := os.RemoveAll(folder); err != nil { // of an earlier rehearsal on the plane
		return fmt.Errorf("make the folder of Argo CD: %w", err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of Argo CD: %w", err)
	}
	a.options.Observer.Stage("making a repository of the work tree")
	if err := a.makeSetup(ctx, filepath.Join(folder, repositoryFolder)); err != nil {
		return err
	}
	a.spec.Revision = a.setup.revision
	share := controllersShare
	if a.options.Drive {
		share = drivenShare
	}
	for i := range a.spec.Components {
		if t := &a.spec.Components[i].Timeout; *t > 0 {
			*t += share
		}
	}
	a.options.Observer.Stage("installing Argo CD's kinds and settings")
	if a.installer, err = argocd.NewInstaller(a.access); err != nil {
		return err
	}
	if err := a.installer.Install(ctx, a.options.ArgoCD, a.setup.namespace); err != nil {
		return err
	}
	config, err := worldConfig(a.loaded, a.planned, a.options)
	if err != nil {
		return err
	}
	if err := applyConfig(ctx, a.access, config, a.loaded.Platform.Namespaces); err != nil {
		return fmt.Errorf("set up the simulated world: %w", err)
	}
	if err := applyOLM(ctx, a.access, a.loaded); err != nil {
		return fmt.Errorf("set up the simulated world: %w", err)
	}
	if err := applyClasses(ctx, a.access, a.loaded); err != nil {
		return fmt.Errorf("set up the simulated world: %w", err)
	}
	return nil
}

// applications are those of the components: an Application has the name of its
// component.
func (a *argoTarget) applications() map[string]status.Ref {
	all := map[string]status.Ref{}
	for _, c := range a.loaded.Platform.Components {
		if c.Enabled && !c.PreArgo {
			all[c.Name] = status.Ref{Namespace: a.setup.namespace, Name: c.Name}
		}
	}
	return all
}

// report is the report of how it stands.
func (a *argoTarget) report(outcome executor.Outcome) Rehearsal {
	r := Rehearsal{Interrupted: outcome.Interrupted}
	r.Report = session.Report(a.loaded, a.planned, outcome, session.Conditions{Engine: EngineArgoCD, Seed: a.options.Seed, Speed: a.options.Speed})
	a.options.judge(&r, a.loaded.Findings)
	r.Report.EngineVersion, r.Report.Driven = a.version, a.options.Drive
	r.Report.PlaneReadySeconds = a.plane.ReadyAfter.Seconds()
	if a.kept {
		r.Report.Kubeconfig = a.plane.Kubeconfig
	}
	return r
}

// early is what was rolled out before Argo CD.
type early struct {
	states      []rollout.ComponentState
	transitions []rollout.Transition
	result      rollout.Result
	interrupted bool
	started     time.Time
}

// began is when the rollout started, or now where nothing came before Argo CD.
func (e early) began(now time.Time) time.Time {
	if e.started.IsZero() {
		return now
	}
	return e.started
}

// before applies what comes before Argo CD, as a bootstrap would, with the native
// engine.
func (a *argoTarget) before(ctx context.Context) (early, error) {
	var pre []model.Component
	for _, c := range a.loaded.Platform.Components {
		if c.Enabled && c.PreArgo {
			pre = append(pre, c)
		}
	}
	if len(pre) == 0 {
		return early{result: rollout.Succeeded}, nil
	}
	a.options.Observer.Stage("applying what comes before Argo CD")
	spec := a.spec
	spec.Components = slices.DeleteFunc(slices.Clone(spec.Components), func(c rollout.ComponentSpec) bool {
		return !slices.ContainsFunc(pre, func(p model.Component) bool { return p.Name == c.Name })
	})
	engine, err := a.nativeEngine(ctx, a.access, a.loaded, pre, spec, a.realTimes())
	if err != nil {
		return early{}, err
	}
	defer engine.Close()
	outcome, err := session.Run(ctx, a.options.Observer, a.loaded, a.planned, a.options.Speed, executor.Config{
		Spec: spec, Engine: engine, Start: executor.StartFresh, Control: a.options.Control, Clock: a.clock,
	})
	if err != nil {
		return early{}, fmt.Errorf("apply what comes before Argo CD: %w", err)
	}
	return early{
		states: outcome.State.Components, transitions: outcome.Transitions, result: outcome.Result,
		interrupted: outcome.Interrupted, started: outcome.State.StartedAt,
	}, nil
}

// namespaced gives objects without a namespace that of Argo CD.
func namespaced(objects []*unstructured.Unstructured, namespace string) {
	for _, o := range objects {
		if o.GetNamespace() == "" {
			o.SetNamespace(namespace)
		}
	}
}
