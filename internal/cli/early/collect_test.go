package early

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

var lint = []string{"ladder", "lint", "."}

// The first collection comes late, and the settings are those of before then.
func TestCollectLate(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetGCPercent(100)
	limit := debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() {
		debug.SetGCPercent(before)
		debug.SetMemoryLimit(limit)
	})
	collectLate(lint)
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

// What the environment says stays in force, and other commands collect as ever.
func TestCollectAsSaid(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for _, tc := range []struct {
		collect string
		args    []string
	}{{"50", lint}, {"", []string{"ladder", "version"}}, {"", []string{"ladder"}}} {
		t.Setenv("GOGC", tc.collect)
		t.Setenv("GOMEMLIMIT", "")
		collectLate(tc.args)
		if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
			t.Errorf("%v, GOGC=%s: limit = %d", tc.args, tc.collect, limit)
		}
	}
}
