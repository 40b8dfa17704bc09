package world

import (
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/simulate/settings"
	"github.com/rollout-ladder/ladder/internal/simulate/simtime"
)

// TestBegin begins the things of components as controllers do: side by side, one after
// the other, behind a hook, and once more later. All of them take what is expected of
// the component.
func TestBegin(t *testing.T) {
	none := 0.0
	w := &World{Clock: simtime.New(0)}
	w.config.Store(&settings.Config{Jitter: &none, Components: map[string]settings.Component{
		"store": {Delay: time.Minute}, "page": {Delay: 20 * time.Second}, "schema": {Delay: time.Minute}, "short": {Delay: 2 * time.Second},
	}})
	began := w.Clock.Now()
	for _, step := range []struct {
		at               time.Duration
		component, thing string
		most, want       time.Duration
	}{
		{0, "store", "first", time.Hour, time.Minute},
		{2 * time.Second, "store", "beside it", time.Hour, time.Minute},
		{2 * time.Second, "page", "of another component", time.Hour, 20 * time.Second},
		{2 * time.Second, "", "of none", time.Hour, settings.DefaultDelay},
		{3 * time.Second, "schema", "a hook", 10 * time.Second, 10 * time.Second},
		{3 * time.Second, "short", "first", time.Hour, 2 * time.Second},
		{5 * time.Second, "short", "behind it", time.Hour, 100 * time.Millisecond},
		{15 * time.Second, "schema", "behind the hook", time.Hour, 48 * time.Second},
		{40 * time.Second, "store", "while they start", time.Hour, 20 * time.Second},
		{61 * time.Second, "store", "when the first is ready", time.Hour, 3 * time.Second},
		{64 * time.Second, "store", "and after that", time.Hour, 3 * time.Second},
		{5 * time.Minute, "store", "another rollout", time.Hour, time.Minute},
		{6*time.Minute + time.Second, "store", "and its second", time.Hour, 3 * time.Second},
	} {
		w.Clock.Advance(began.Add(step.at))
		if takes := w.Begin(step.component, step.thing, step.most); takes != step.want {
			t.Errorf("at %s %q of %q takes %s, want %s", step.at, step.thing, step.component, takes, step.want)
		}
	}
	w.BeginAnew()
	if takes := w.Begin("store", "after a change", time.Hour); takes != time.Minute {
		t.Errorf("after a change of the configuration it takes %s", takes)
	}
}
