package plan

import (
	"time"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Comparison is the expected outcome of one policy.
type Comparison struct {
	Policy       rollout.Policy
	Makespan     time.Duration
	Bound        time.Duration
	CriticalPath Path
	// Cyclic is true where the policy refuses to run because of a cycle.
	Cyclic bool
}

// Compare plans the same input under every policy; the policy of the input does
// not count.
func Compare(in Input) ([]Comparison, error) {
	var all []Comparison
	for _, policy := range rollout.Policies() {
		in.Policy = policy
		p, err := Build(in)
		if err != nil {
			return nil, err
		}
		all = append(all, Comparison{
			Policy: policy, Makespan: p.Makespan, Bound: p.Bound, CriticalPath: p.CriticalPath,
			Cyclic: policy == rollout.Edges && len(p.Cycles) > 0,
		})
	}
	return all, nil
}
