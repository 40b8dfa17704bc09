package simulate

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/simulate/rule"
)

func TestEmbeddedRulesCompile(t *testing.T) {
	files, err := embedded.ReadDir("rules")
	if err != nil {
		t.Fatal(err)
	}
	set := &rule.Set{}
	for _, f := range files {
		text, err := embedded.ReadFile("rules/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Add(f.Name(), text); err != nil {
			t.Error(err)
		}
	}
	if len(set.Operators) == 0 || len(set.Provisioners) == 0 {
		t.Fatalf("no rules: %d operators, %d provisioners", len(set.Operators), len(set.Provisioners))
	}
}
