package child

import (
	"bytes"
	"testing"
)

func TestLogLeavesRefusedValuesOut(t *testing.T) {
	for name, tc := range map[string]struct{ message, want string }{
		"ordinary": {"E1 something failed: x\n", "E1 something failed: x\n"},
		"refused":  {"E1 typed patch: .data: expected map, got &{hunter2\nhunter3}\n", "E1 typed patch: .data: expected map, got [redacted]\n"},
	} {
		var b bytes.Buffer
		n, err := WithoutValues{&b}.Write([]byte(tc.message))
		if err != nil || n != len(tc.message) || b.String() != tc.want {
			t.Errorf("%s: %d, %v, %q", name, n, err, b.String())
		}
	}
}
