package lint_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// platform is a synthetic environment: n components of five objects each, in a
// hundred phases, each component with five dependencies on earlier ones and, one
// in twenty, on a later one.
func platform(n int) lint.Input {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	in := lint.Input{Environment: "dev", Ladder: plan.Ladder{Bands: []plan.Band{{Name: "apps", From: 0, To: 999}}}}
	for phase := model.Phase(0); phase < 1000; phase += 10 {
		in.Ladder.Steps = append(in.Ladder.Steps, plan.LadderStep{Phases: []model.Phase{phase}})
	}
	name := func(i int) string { return fmt.Sprintf("c%05d", i) }
	secret := func(i int) finding.Resource {
		return finding.Resource{Kind: "Secret", Namespace: "apps", Name: name(i)}
	}
	at := func(i int) finding.Position { return finding.Position{File: name(i) + ".yaml", Line: 1} }
	for i := range n {
		in.Components = append(in.Components, model.Component{
			Name: name(i), Environment: "dev", Domain: "apps", Namespace: "apps", Enabled: true, Type: model.Runtime,
			Phase: model.Phase(100 * i / n * 10), Position: at(i), Fields: map[string]finding.Position{"rolloutPhase": at(i)},
		})
		for k := range 5 {
			r := secret(i)
			if k > 0 {
				r = finding.Resource{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: fmt.Sprintf("%s-%d", name(i), k)}
			}
			in.Objects = append(in.Objects, lint.Object{Component: name(i), Resource: r, Health: "workload", Position: at(i)})
		}
		for k := range 5 {
			to := i
			if i > 0 {
				to = random.IntN(i)
			}
			if k == 0 && random.IntN(20) == 0 {
				to = random.IntN(n)
			}
			if to == i {
				continue
			}
			consumer := finding.Resource{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: name(i) + "-1"}
			in.Dependencies = append(in.Dependencies, dependency.Dependency{
				Rule: "secret-before-use", Required: secret(to), Strength: plan.Hard, Effect: dependency.Ready, Basis: finding.Rendered,
				Reason:   "reads Secret " + name(to),
				Consumer: dependency.End{Component: name(i), Object: consumer, Position: at(i)},
				Provider: dependency.End{Component: name(to), Object: secret(to), Position: at(to)},
			})
			in.Edges = append(in.Edges, plan.Edge{From: name(i), To: name(to), Strength: plan.Hard, Basis: finding.Rendered})
		}
	}
	return in
}

// BenchmarkLint judges synthetic environments by all rules, and compares two of
// them.
func BenchmarkLint(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		in := platform(n)
		other := in
		other.Environment = "prod"
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			found := 0
			for b.Loop() {
				found = len(lint.Run(in, lint.Options{}))
				if differences, _, _ := lint.Parity([]lint.Input{in, other}, nil); len(differences) > 0 {
					b.Fatal("an environment differs from itself")
				}
			}
			if found < n/100 {
				b.Fatalf("%d findings", found)
			}
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(memory.Sys)/(1<<20), "MiB")
		})
	}
}
