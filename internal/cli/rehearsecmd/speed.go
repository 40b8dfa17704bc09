package rehearsecmd

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/run/rehearse"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
)

// skip is the speed at which the time in which nothing happens is left out.
const skip = "skip"

// fastest bounds the speed.
const fastest = 1e6

// speed is how many times as fast as in a cluster time goes; 0 skips what is idle.
// Argo CD keeps the real time, which nobody can skip.
func (o *Options) speed() (float64, error) {
	argo := o.Engine == rehearse.EngineArgoCD
	switch {
	case o.Speed == "" && argo:
		return settings.DefaultSpeed, nil
	case o.Speed == "" || o.Speed == skip && !argo:
		return 0, nil
	case o.Speed == skip:
		return 0, exit.With(exit.Usage, fmt.Errorf("--speed skip: the controllers of Argo CD go by the real time, which cannot be skipped; choose a number, as --speed %g", settings.DefaultSpeed))
	}
	speed, err := strconv.ParseFloat(o.Speed, 64)
	if err != nil || !(speed > 0) || speed > fastest {
		return 0, exit.With(exit.Usage, fmt.Errorf("--speed %s: choose skip, or a number above 0 and at most %d", o.Speed, int(fastest)))
	}
	return speed, nil
}

// leastTimeout is what was asked for, or the default.
func (o *Options) leastTimeout(speed float64) time.Duration {
	switch {
	case o.LeastTimeout > 0:
		return o.LeastTimeout
	case speed == 0:
		return 20 * time.Second
	default:
		return time.Minute
	}
}
