package rollout

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// broad is a rollout of n components in 44 steps with five requirements each.
func broad(n int, policy Policy) Spec {
	r := rand.New(rand.NewPCG(1, 2))
	spec := Spec{Revision: revision, Policy: policy, OnFailure: Halt, MaxInFlight: 20}
	for k := range 44 {
		spec.Steps = append(spec.Steps, StepSpec{Label: fmt.Sprint(k), Limit: 6})
	}
	for i := range n {
		c := ComponentSpec{
			Name: fmt.Sprintf("component-%05d", i), Step: i * 44 / n,
			Timeout: time.Minute, Rank: time.Duration(r.IntN(100)),
		}
		for range min(i, 5) {
			c.Requires = append(c.Requires, fmt.Sprintf("component-%05d", r.IntN(i)))
		}
		spec.Components = append(spec.Components, c)
	}
	return spec
}

// BenchmarkRollout runs whole rollouts: three events per component. The time per
// event must not grow with the number of components.
func BenchmarkRollout(b *testing.B) {
	for _, policy := range Policies() {
		for _, n := range []int{100, 1_000, 5_000} {
			b.Run(fmt.Sprintf("%s/%d", policy, n), func(b *testing.B) {
				start, err := NewMachine(broad(n, policy), epoch)
				if err != nil {
					b.Fatal(err)
				}
				state := start.State()
				events := 0
				for b.Loop() {
					b.StopTimer()
					m, err := Restore(state)
					if err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					events += playThrough(b, m)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
			})
		}
	}
}

// playThrough runs a rollout in which nothing goes wrong and counts its events.
func playThrough(b *testing.B, m *Machine) int {
	now, events := epoch, 0
	var queue []Event
	step := func(e Event) {
		now = now.Add(time.Millisecond)
		events++
		for _, effect := range m.Step(e, now).Effects {
			if s, ok := effect.(Sync); ok {
				queue = append(queue,
					SyncFinished{Component: s.Component, Attempt: s.Attempt},
					Observed{Component: s.Component, Health: Progressing, Revision: revision},
					Observed{Component: s.Component, Health: Healthy, Revision: revision})
			}
		}
	}
	step(Started{})
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		step(next)
	}
	if m.Result() != Succeeded {
		b.Fatalf("ends %q", m.Result())
	}
	return events
}

// BenchmarkFlap measures a gate that closes and opens again while everything in
// the next step waits for it.
func BenchmarkFlap(b *testing.B) {
	for _, n := range []int{100, 1_000, 5_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			spec := Spec{
				Revision: revision, Policy: Phases,
				Steps:      []StepSpec{{Label: "0"}, {Label: "1", Limit: 1}},
				Components: []ComponentSpec{{Name: "gate"}},
			}
			for i := range n {
				spec.Components = append(spec.Components, ComponentSpec{Name: fmt.Sprintf("c%d", i), Step: 1})
			}
			m, err := NewMachine(spec, epoch)
			if err != nil {
				b.Fatal(err)
			}
			m.Step(Started{}, epoch)
			m.Step(SyncFinished{Component: "gate", Attempt: 1}, epoch)
			now := epoch
			for b.Loop() {
				for _, h := range []Health{Healthy, Degraded} {
					now = now.Add(time.Millisecond)
					m.Step(Observed{Component: "gate", Health: h, Revision: revision}, now)
				}
			}
		})
	}
}

// BenchmarkRestore measures taking up a rollout again.
func BenchmarkRestore(b *testing.B) {
	for _, n := range []int{1_000, 5_000} {
		state := New(broad(n, Phases), epoch)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Restore(state); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
