package early

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The first collection comes late, and the settings are those of before then.
func TestLate(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetGCPercent(100)
	t.Cleanup(func() {
		debug.SetGCPercent(before)
		debug.SetMemoryLimit(math.MaxInt64)
	})
	collectLate()
	if limit := debug.SetMemoryLimit(-1); limit != uncollected {
		t.Fatalf("limit = %d", limit)
	}
	runtime.GC()
	deadline := time.Now().Add(time.Minute)
	for debug.SetMemoryLimit(-1) != math.MaxInt64 {
		if time.Now().After(deadline) {
			t.Fatal("the limit stays")
		}
		time.Sleep(time.Millisecond)
	}
	if percent := debug.SetGCPercent(100); percent != 100 {
		t.Errorf("percent = %d", percent)
	}
}

// What the environment says stays in force.
func TestLateWithSettings(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := debug.SetMemoryLimit(math.MaxInt64) // that of the start of the test
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	collectLate()
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		t.Errorf("limit = %d", limit)
	}
}
