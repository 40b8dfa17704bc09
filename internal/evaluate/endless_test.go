package evaluate_test

import (
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/evaluate"
)

// A script that took all of its time over an object is not run over the same object
// again at another time, but it is over one that has changed.
func TestEndlessQuestionsAreAskedOnce(t *testing.T) {
	before := evaluate.Endless()
	changed := object()
	changed["status"] = nil
	for _, at := range []struct {
		object map[string]any
		now    int64
		known  int
	}{{object(), 1, 1}, {object(), 2, 1}, {changed, 3, 2}} {
		_, err := evaluate.Lua(t.Context(), "asked once", `while true do end`, at.object, time.Unix(at.now, 0))
		wantOneOf(t, err, tooLong)
		if got := evaluate.Endless() - before; got != at.known {
			t.Errorf("at %d s %d questions are known, want %d", at.now, got, at.known)
		}
	}
}
