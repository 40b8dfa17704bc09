package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/argocd/engine"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	kubeengine "github.com/rollout-ladder/ladder/internal/kube/engine"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/kube/smoke"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
	"github.com/rollout-ladder/ladder/internal/store/incluster"
)

// target is the engine of a rollout on a cluster, and the spec that it carries
// out.
type target struct {
	spec   rollout.Spec
	engine executor.Engine
	close  func()
	// release gives back what was held for the rollout, once it has ended.
	release func(context.Context) error
}

// end is called after the run. What was held is given back when the rollout has
// ended; one that was interrupted keeps it for its resumption.
func (s *target) end(ctx context.Context, outcome executor.Outcome) error {
	if s.release == nil || outcome.Interrupted {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := s.release(ctx); err != nil {
		return fmt.Errorf("give the automated sync of Applications back: %w", err)
	}
	return nil
}

func (o ClusterOptions) openTarget(ctx context.Context, clock *Clock, loaded *analysis.Result, planned *plan.Plan, key incluster.Key, selected map[string]bool) (*target, error) {
	revision := Revision(loaded)
	if o.Engine == ArgoCD {
		revision = o.Revision
	}
	options := plan.SpecOptions{
		Revision: revision, OnFailure: o.OnFailure, Speed: 1, Timeout: o.Timeout, MaxInFlight: o.MaxInFlight, DegradedGrace: degradedGrace,
		Unrendered: Lacking(loaded),
	}
	spec, err := planned.Spec(options)
	if err != nil {
		return nil, err
	}
	assessor, err := Assessor(ctx, loaded, o.Now)
	if err != nil {
		return nil, err
	}
	s := &target{spec: spec}
	if o.Engine == ArgoCD {
		selected, err = o.openArgoCD(ctx, s, clock, loaded, assessor, selected)
	} else {
		err = o.openNative(ctx, s, clock, loaded, assessor, key)
		if err == nil && selected == nil && !o.KeepRemoved {
			var vanished []rollout.RemovalSpec
			if vanished, err = s.engine.(*kubeengine.Engine).Vanished(ctx); err == nil {
				s.spec.Remove = planned.Removals(vanished, options)
			}
		}
	}
	if err != nil {
		if s.close != nil {
			s.close()
		}
		return nil, err
	}
	if selected != nil {
		var outside map[string]bool
		s.spec, outside = Select(s.spec, selected)
		s.engine = newSelection(s.engine, outside, revision, clock)
	}
	return s, nil
}

func (o ClusterOptions) openNative(ctx context.Context, s *target, clock *Clock, loaded *analysis.Result, assessor *health.Assessor, key incluster.Key) error {
	smokes, err := o.smokes()
	if err != nil {
		return err
	}
	engine, err := kubeengine.New(ctx, kubeengine.Config{
		RESTConfig: o.REST, Components: Enabled(loaded), Objects: loaded.Objects, Revision: s.spec.Revision,
		Scope: key.String(), Requires: Requirements(s.spec), Smoke: smokes, Clock: clock, Health: assessor,
	})
	if err != nil {
		return fmt.Errorf("prepare the engine: %w", err)
	}
	s.engine, s.close = engine, engine.Close
	return nil
}

// smokes says how smoke checks reach what they ask: from outside of the cluster
// through forwarded ports.
func (o ClusterOptions) smokes() (smoke.Options, error) {
	options := smoke.Options{Simulated: o.Simulated, Now: o.Now}
	if o.InCluster || o.Simulated {
		return options, nil
	}
	client, err := smoke.Connect(o.REST, o.Now)
	if err != nil {
		return options, err
	}
	options.Dial = smoke.Forwarder(o.REST, client)
	return options, nil
}

// openArgoCD returns the components that Applications stand for, as far as they
// are selected: what is applied before Argo CD has none.
func (o ClusterOptions) openArgoCD(ctx context.Context, s *target, clock *Clock, loaded *analysis.Result, assessor *health.Assessor, selected map[string]bool) (map[string]bool, error) {
	if o.Revision == "" {
		return nil, errors.New("the engine argocd needs the commit to roll out")
	}
	namespace := cmp.Or(o.ArgoNamespace, loaded.Platform.ArgoCD.Namespace)
	found, err := engine.Discover(ctx, o.REST, namespace, Enabled(loaded))
	if err != nil {
		return nil, err
	}
	engine, err := engine.New(engine.Config{
		REST: o.REST, Namespace: namespace, Applications: found.Applications, Revision: o.Revision,
		Repositories: repositories(loaded), SelfHeal: o.SelfHeal, Clock: clock, Health: assessor,
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the engine: %w", err)
	}
	s.engine, s.close, s.release = engine, engine.Close, engine.Release
	kept := map[string]bool{}
	all := true
	for _, c := range Enabled(loaded) {
		_, driven := found.Applications[c.Name]
		if driven && (selected == nil || selected[c.Name]) {
			kept[c.Name] = true
		} else {
			all = false
		}
	}
	s.spec = gated(s.spec, found.Applications)
	if err := engine.Prepare(ctx); err != nil {
		return nil, err
	}
	if all {
		return nil, nil
	}
	return kept, nil
}

// repositories are the addresses of the platform's repository, as far as they
// are known: none means that every source which is no chart comes from it.
func repositories(loaded *analysis.Result) []string {
	var out []string
	if a := loaded.Platform.ArgoCD.RepoURL; a != "" {
		out = append(out, a)
	}
	// A checkout of a folder says nothing of where Argo CD reads.
	if here, err := checkout.Read(loaded.Platform.Repository); err == nil && remoteAddress(here.URL) {
		out = append(out, here.URL)
	}
	return out
}

func remoteAddress(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") ||
		strings.HasPrefix(address, "ssh://") || strings.Contains(address, "@")
}

// Chosen lists components by their phases; to and from are inclusive, NoPhase for
// no bound.
func Chosen(components []model.Component, from, to model.Phase) []model.Component {
	var out []model.Component
	for _, c := range components {
		if (from != model.NoPhase && c.Phase < from) || (to != model.NoPhase && c.Phase > to) {
			continue
		}
		out = append(out, c)
	}
	return out
}
