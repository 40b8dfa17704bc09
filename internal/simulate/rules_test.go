package simulate

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/operators"
	"github.com/rollout-ladder/ladder/internal/simulate/rule"
)

func TestEmbeddedRulesCompile(t *testing.T) {
	set := &rule.Set{}
	for _, r := range operators.Simulation() {
		if err := set.Add(r.Name, []byte(r.Text)); err != nil {
			t.Error(err)
		}
	}
	if len(set.Operators) == 0 || len(set.Provisioners) == 0 {
		t.Fatalf("no rules: %d operators, %d provisioners", len(set.Operators), len(set.Provisioners))
	}
}
