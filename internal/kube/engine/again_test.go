package engine

import (
	"testing"
	"time"
)

// Checks that do not hold run again soon, then ever later, and never later than the interval says.
func TestAgain(t *testing.T) {
	for failed, want := range []time.Duration{1, 2, 4, 8, 16, 16, 16} {
		if got := again(16*time.Second, failed); got != want*time.Second {
			t.Errorf("after %d failures: %v, want %ds", failed, got, want)
		}
	}
	if got := again(24*time.Hour, 1_000_000); got != 24*time.Hour {
		t.Errorf("after many failures: %v", got)
	}
}
