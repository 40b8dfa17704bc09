package world

import (
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/simulate/settings"
	"github.com/rollout-ladder/ladder/internal/simulate/simtime"
)

// TestTakes begins the pods of a component as controllers do: side by side, one after
// the other, and once more later. All of them take what is expected of the component.
func TestTakes(t *testing.T) {
	none := 0.0
	w := &World{Clock: simtime.New(0)}
	w.config.Store(&settings.Config{Jitter: &none, Components: map[string]settings.Component{
		"store": {Delay: time.Minute}, "page": {Delay: 20 * time.Second},
	}})
	began := w.Clock.Now()
	for _, step := range []struct {
		at               time.Duration
		component, thing string
		want             time.Duration
	}{
		{0, "store", "first", time.Minute},
		{2 * time.Second, "store", "beside it", time.Minute},
		{2 * time.Second, "page", "of another component", 20 * time.Second},
		{2 * time.Second, "", "of none", settings.DefaultDelay},
		{40 * time.Second, "store", "while they start", 20 * time.Second},
		{61 * time.Second, "store", "when the first is ready", 3 * time.Second},
		{64 * time.Second, "store", "and after that", 3 * time.Second},
		{64 * time.Second, "store", "first", time.Minute}, // it does not change any more
		{5 * time.Minute, "store", "another rollout", time.Minute},
		{6*time.Minute + time.Second, "store", "and its second", 3 * time.Second},
	} {
		w.Clock.Advance(began.Add(step.at))
		takes := w.Takes(step.component, step.thing, step.thing)
		w.Begin(step.component, step.thing, takes)
		if takes != step.want {
			t.Errorf("at %s %q of %q takes %s, want %s", step.at, step.thing, step.component, takes, step.want)
		}
	}
	w.BeginAnew()
	if takes := w.Takes("store", "after a change", "x"); takes != time.Minute {
		t.Errorf("after a change of the configuration it takes %s", takes)
	}
}
