package outcome

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// Coded gives an error of a rollout, rehearsed or real, its exit code.
func Coded(err error) error {
	var unfinished *executor.UnfinishedError
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, new(*exit.Error)):
		return err
	case errors.Is(err, executor.ErrNothingSaved):
		return exit.With(exit.Usage, executor.ErrNothingSaved)
	case errors.As(err, &unfinished):
		return exit.With(exit.Usage, fmt.Errorf("%w (go on with it: --resume, with the repository and the flags as they were; forget it: --fresh)", unfinished))
	case errors.As(err, new(*session.UnrenderedError)), errors.As(err, new(*session.RefusedError)), errors.As(err, new(*session.UnknownComponentError)),
		errors.As(err, new(*session.SeveralClustersError)), errors.As(err, new(*plan.CycleError)), errors.As(err, new(*plan.PlaceError)):
		return exit.With(exit.Usage, err)
	default:
		return source.Coded(err)
	}
}
