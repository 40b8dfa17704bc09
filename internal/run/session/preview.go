package session

import (
	"context"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/kube/engine"
)

// Preview is what a rollout would do to one component.
type Preview struct {
	Component, Phase string
	Differences      []engine.Difference
}

// DryRun asks the cluster what a rollout would change, component by component in
// order, and changes nothing. removals are what it would remove, in the order in
// which that happens.
func DryRun(ctx context.Context, o ClusterOptions) (previews []Preview, removals []string, loaded *analysis.Result, err error) {
	loaded, planned, err := Prepare(ctx, o.Piece, o.Observer)
	if err != nil {
		return nil, nil, nil, err
	}
	selected, err := o.selected(loaded)
	if err != nil {
		return nil, nil, nil, err
	}
	loaded.Findings = append(loaded.Findings, ParentsAtOnce(loaded)...)
	finding.Sort(loaded.Findings)
	s, err := o.openTarget(ctx, NewClock(o.Now), loaded, planned, KeyOf(loaded.Platform), nil)
	if err != nil {
		return nil, nil, nil, err
	}
	defer s.close()
	engine, ok := s.engine.(*engine.Engine)
	if !ok {
		return nil, nil, nil, fmt.Errorf("the engine %s has no dry run", o.Engine)
	}
	phases := map[string]string{}
	for _, c := range loaded.Platform.Components {
		phases[c.Name] = c.Order()
	}
	for i, c := range s.spec.Components {
		if selected != nil && !selected[c.Name] {
			continue
		}
		o.Observer.Counted(i+1, len(s.spec.Components), "components compared")
		found, err := engine.Preview(ctx, c.Name)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("component %s: %w", c.Name, err)
		}
		previews = append(previews, Preview{Component: c.Name, Phase: phases[c.Name], Differences: found})
	}
	if selected == nil {
		for i := len(s.spec.Remove) - 1; i >= 0; i-- {
			removals = append(removals, s.spec.Remove[i].Name)
		}
	}
	return previews, removals, loaded, nil
}
