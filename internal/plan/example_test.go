package plan_test

import (
	"fmt"
	"time"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/plan"
	"github.com/rollout-ladder/ladder/internal/rollout"
)

func ExampleBuild() {
	phase := func(name string, p component.Phase, t component.Type) component.Component {
		return component.Component{Name: name, Phase: p, Type: t, Enabled: true}
	}
	p, err := plan.Build(plan.Input{
		Components: []component.Component{
			phase("vault", 150, component.Runtime),
			phase("crds", 110, component.CRDs),
			phase("cert-manager", 120, component.Operator),
		},
		Ladder: plan.Ladder{Steps: []plan.LadderStep{
			{Phases: []component.Phase{110}}, {Phases: []component.Phase{120}}, {Phases: []component.Phase{150}},
		}},
		Edges:     []plan.Edge{{From: "cert-manager", To: "crds", Strength: plan.Hard}},
		Durations: map[string]time.Duration{"vault": 90 * time.Second},
		Policy:    rollout.Phases,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Order, p.Makespan, p.BlastRadius("crds"))
	// Output: [crds cert-manager vault] 2m20s [cert-manager]
}
