package finding_test

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

func TestCount(t *testing.T) {
	for want, c := range map[string]struct {
		n    int
		noun string
	}{
		"1 key":        {1, "key"},
		"2 more keys":  {2, "more key"},
		"2 gateways":   {2, "gateway"},
		"3 policies":   {3, "policy"},
		"2 classes":    {2, "class"},
		"0 components": {0, "component"},
	} {
		if got := finding.Count(c.n, c.noun); got != want {
			t.Errorf("Count(%d, %q) is %q, not %q", c.n, c.noun, got, want)
		}
	}
}
