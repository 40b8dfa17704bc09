// Package durations reads the file of --durations.
package durations

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// limit is the size of the largest file that is read.
const limit = 64 << 20

// Read reads expected durations per component. The file is a map from name to a
// duration ("90s") or to seconds, in YAML or JSON, or the JSON report of a
// rollout, of which the time from start to Healthy counts, times its speed. An
// empty name reads nothing.
func Read(file string) (map[string]time.Duration, error) {
	if file == "" {
		return nil, nil
	}
	info, err := os.Stat(file)
	if err == nil && info.Size() > limit {
		err = fmt.Errorf("the file is larger than %d MiB", limit>>20)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("read durations: %w", err))
	}
	if recorded, ok := fromReport(text); ok {
		return recorded, nil
	}
	var written map[string]any
	if err := yaml.Unmarshal(text, &written); err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("read durations from %s: %w", file, err))
	}
	out := map[string]time.Duration{}
	for name, value := range written {
		d, err := parse(value)
		if err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("read durations from %s: %s: %w", file, name, err))
		}
		out[name] = d
	}
	return out, nil
}

func parse(value any) (time.Duration, error) {
	var d time.Duration
	switch v := value.(type) {
	case float64:
		d = time.Duration(v * float64(time.Second))
	case string:
		var err error
		if d, err = time.ParseDuration(v); err != nil {
			return 0, fmt.Errorf("%q is not a duration such as 90s", v)
		}
	default:
		return 0, fmt.Errorf("%v is not a duration such as 90s", value)
	}
	if d < 0 {
		return 0, fmt.Errorf("%s is below zero", d)
	}
	return d, nil
}

// fromReport reads the durations that a rollout took.
func fromReport(text []byte) (map[string]time.Duration, bool) {
	var r report.Rollout
	if json.Unmarshal(text, &r) != nil || r.FormatVersion == "" || r.Result == "" {
		return nil, false
	}
	out := map[string]time.Duration{}
	for _, c := range r.Components {
		started, healthy := time.Time(c.StartedAt), time.Time(c.HealthyAt)
		if started.IsZero() || healthy.Before(started) {
			continue
		}
		out[c.Name] = time.Duration(float64(healthy.Sub(started)) * max(r.Speed, 1))
	}
	return out, true
}
