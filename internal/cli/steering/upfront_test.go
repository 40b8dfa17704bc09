package steering

import (
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
)

func TestUpFront(t *testing.T) {
	cases := map[string]struct {
		given   UpFront
		refused string
	}{
		"nothing":                      {},
		"approvals":                    {given: UpFront{Approve: []string{"250"}}},
		"approvals with a reason":      {given: UpFront{Approve: []string{"250"}, Reason: strings.Repeat("x", maxReason)}},
		"a reason for nothing":         {given: UpFront{Reason: "OPS-12"}, refused: "--reason says why steps are approved: add --approve PHASE"},
		"a reason longer than is kept": {given: UpFront{Approve: []string{"250"}, Reason: strings.Repeat("x", maxReason+1)}, refused: "--reason is longer than 500 bytes; name a ticket that says it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.given.CheckUpFront()
			if tc.refused == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if exit.Of(err) != exit.Usage || err.Error() != tc.refused {
				t.Errorf("got %v, want exit code 2 and %q", err, tc.refused)
			}
		})
	}
}
