package plan_test

import (
	"fmt"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

func ExampleBuild() {
	phase := func(name string, p model.Phase, t model.Type) model.Component {
		return model.Component{Name: name, Phase: p, Type: t, Enabled: true}
	}
	p, err := plan.Build(plan.Input{
		Components: []model.Component{
			phase("vault", 150, model.Runtime),
			phase("crds", 110, model.CRDs),
			phase("cert-manager", 120, model.Operator),
		},
		Ladder: plan.Ladder{Steps: []plan.LadderStep{
			{Phases: []model.Phase{110}}, {Phases: []model.Phase{120}}, {Phases: []model.Phase{150}},
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
