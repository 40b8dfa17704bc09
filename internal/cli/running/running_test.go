package running

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/run/rehearse"
)

// TestResuming: what was rehearsed at a speed, or with a fault, goes on so.
func TestResuming(t *testing.T) {
	s := Snapshot{Rehearsal: &rehearse.Kept{
		Plane: "left", Environment: "dev", Path: "/my platform", Flags: []string{"--fail", "db=slow:5m", "--speed", "60", "--durations", "/it's"},
	}}
	want := `ladder rehearse '/my platform' --environment dev --plane left --fail db=slow:5m --speed 60 --durations '/it'\''s' --resume`
	if got := s.Resuming(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (Snapshot{}).Resuming(); got != "ladder rollout --resume" {
		t.Errorf("got %s", got)
	}
}
