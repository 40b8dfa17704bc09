package simulate

import "testing"

func TestEmbeddedRulesCompile(t *testing.T) {
	set, err := LoadRules(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Operators) == 0 || len(set.Provisioners) == 0 {
		t.Fatalf("no rules: %d operators, %d provisioners", len(set.Operators), len(set.Provisioners))
	}
}
