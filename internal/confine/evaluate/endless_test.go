package evaluate_test

import (
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
)

// A script that took all of its time over an object twice is not run over the same
// object again at another time, but it is over one that has changed.
func TestEndlessQuestionsAreAskedTwice(t *testing.T) {
	evaluate.ForgetEndless()
	changed := object()
	changed["status"] = nil
	for _, at := range []struct {
		object map[string]any
		now    int64
		runs   int
	}{{object(), 1, 1}, {object(), 2, 2}, {object(), 3, 2}, {changed, 4, 3}} {
		_, err := evaluate.Lua(t.Context(), "asked twice", `while true do end`, at.object, time.Unix(at.now, 0))
		wantOneOf(t, err, tooLong)
		if got := evaluate.Endless(); got != at.runs {
			t.Errorf("at %d s it has run %d times, want %d", at.now, got, at.runs)
		}
	}
}
