package rehearse

import (
	"context"
	"fmt"
	"slices"
	"time"

	engineargocd "github.com/rollout-ladder/ladder/internal/argocd/engine"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

const (
	// madePatience is how long the controllers may take to make the Applications.
	// The rollout of one that is not there then fails, and says so.
	madePatience = time.Minute
	// releasePatience bounds giving the automated syncs back at the end.
	releasePatience = 30 * time.Second
)

// driven is a rollout in which Ladder syncs the Applications of Argo CD, as a
// rollout on a cluster does with the engine argocd.
type driven struct {
	*argoTarget
	early early
	// stands is how it stands.
	stands executor.Outcome
}

// outcome implements course.
func (d *driven) outcome() executor.Outcome { return d.stands }

// run drives the Applications, which were made with their automated sync held.
func (d *driven) run(ctx context.Context) error {
	engine, err := d.engine(ctx)
	if err != nil {
		return err
	}
	defer engine.Close()
	o := d.options
	applications := d.applications()
	o.Observer.Stage(fmt.Sprintf("Argo CD %s makes %d Applications", d.version, len(applications)))
	made, cancel := context.WithTimeout(ctx, madePatience)
	err = engine.Made(made)
	cancel()
	if err != nil && made.Err() == nil {
		return err
	}
	spec := session.Driven(d.spec, applications)
	o.Observer.Stage(fmt.Sprintf("rolling out %s, a sync of Argo CD each", finding.Count(len(spec.Components), "component")))
	outcome, err := session.Run(ctx, o.Observer, d.loaded, d.planned, o.Speed, executor.Config{
		Spec: spec, Engine: engine, Start: executor.StartFresh, Control: o.Control, Clock: d.clock,
	})
	if err != nil {
		return err
	}
	d.take(outcome)
	if outcome.Interrupted {
		return nil
	}
	released, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
	defer cancel()
	if err := engine.Release(released); err != nil {
		return fmt.Errorf("give the automated sync of Applications back: %w", err)
	}
	return nil
}

// engine is that of a rollout on a cluster.
func (d *driven) engine(ctx context.Context) (*engineargocd.Engine, error) {
	assessor, err := session.Assessor(ctx, d.loaded, d.options.Now)
	if err != nil {
		return nil, err
	}
	engine, err := engineargocd.New(engineargocd.Config{
		REST: d.access, Namespace: d.setup.namespace, Applications: d.applications(), Revision: d.setup.revision,
		Repositories: []string{d.setup.address}, Clock: d.clock, Health: assessor,
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the engine: %w", err)
	}
	return engine, nil
}

// take joins what was driven to what came before Argo CD. Like a rollout that is
// followed it began when Argo CD was started.
func (d *driven) take(outcome executor.Outcome) {
	outcome.State.StartedAt = d.stands.State.StartedAt
	outcome.State.Components = append(slices.Clone(d.early.states), outcome.State.Components...)
	outcome.Transitions = append(slices.Clone(d.early.transitions), outcome.Transitions...)
	d.stands = outcome
}
