package rehearsecmd

import (
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/steering"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/plane/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/git"
	"github.com/rollout-ladder/ladder/internal/run/rehearse"
)

// argoCDAlone refuses what Argo CD cannot do: driven by Ladder it does what any
// rollout does, but keeps nothing to resume by.
func (o *Options) argoCDAlone() error {
	const driven = "or have Ladder drive the Applications: --policy " + string(rollout.Phases)
	switch {
	case o.Resume || o.Fresh:
		return exit.Usagef("--resume and --fresh are for --engine %s: Argo CD keeps its state on the plane", rehearse.EngineNative)
	case o.driven:
		return nil
	case o.OnFailure != string(rollout.Halt):
		return exit.Usagef("--on-failure %s: Argo CD decides itself what a failure stops; leave the flag out, %s", o.OnFailure, driven)
	case len(o.Approve) > 0:
		return exit.Usagef("--approve: a step with maxUpdate 0 is not synced by Argo CD at all, but by a person; leave the flag out, %s", driven)
	case o.MaxInFlight > 0:
		return exit.Usagef("--max-in-flight: Argo CD goes by the maxUpdate of the steps; leave the flag out, or have Ladder drive the Applications: --policy %s", rollout.Edges)
	}
	return nil
}

// argoCD checks what the engine argocd cannot do and finds its binary; empty for
// another engine.
func (o *Options) argoCD() (string, error) {
	if o.Engine != rehearse.EngineArgoCD {
		if o.ArgoCD != "" {
			return "", exit.Usagef("--argocd-binary is for --engine %s", rehearse.EngineArgoCD)
		}
		return "", nil
	}
	if err := o.argoCDAlone(); err != nil {
		return "", err
	}
	if err := git.Available(); err != nil {
		return "", exit.With(exit.CouldNotRun, err)
	}
	binary, err := argocd.Find(o.ArgoCD)
	if err != nil {
		return "", exit.With(exit.CouldNotRun, err)
	}
	return binary, nil
}

// ofArgoCD refuses steps that start by hand, which Argo CD would wait on for ever.
func ofArgoCD(check func(*plan.Plan) error) func(*plan.Plan) error {
	return func(p *plan.Plan) error {
		if held := steering.HandStarted(p); len(held) > 0 {
			return exit.Usagef("step %s has maxUpdate 0: Argo CD syncs none of its Applications, and nobody is there to do it%s",
				p.Steps[held[0]].Label, steering.Those(p, held))
		}
		return check(p)
	}
}
