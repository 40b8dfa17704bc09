package engine

import (
	"testing"
	"time"
)

// Checks that do not hold run again soon, then ever later, and never later than the interval says.
func TestAgain(t *testing.T) {
	for failed, want := range []string{"1s", "2s", "4s", "8s", "16s", "16s", "16s"} {
		if got := again(16*time.Second, failed).String(); got != want {
			t.Errorf("after %d failures: %s, want %s", failed, got, want)
		}
	}
	if got := again(24*time.Hour, 1_000_000); got != 24*time.Hour {
		t.Errorf("after many failures: %v", got)
	}
}
