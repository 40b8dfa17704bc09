package rolloutcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/drive"
	"github.com/rollout-ladder/ladder/internal/engine/argocd"
	"github.com/rollout-ladder/ladder/internal/perform"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// coded gives an error of a rollout its exit code.
func coded(err error) error {
	var unfinished *drive.UnfinishedError
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, new(*exit.Error)):
		return err
	case errors.Is(err, drive.ErrNothingSaved):
		return exit.With(exit.Usage, drive.ErrNothingSaved)
	case errors.As(err, &unfinished):
		return exit.With(exit.Usage, fmt.Errorf("%w (go on with it: --resume, with the repository and the flags as they were; forget it: --fresh)", unfinished))
	case errors.As(err, new(*perform.UnrenderedError)), errors.As(err, new(*perform.RefusedError)),
		errors.As(err, new(*perform.UnknownComponentError)), errors.As(err, new(*perform.SeveralClustersError)), errors.As(err, new(*plan.CycleError)), errors.As(err, new(*plan.PlaceError)),
		errors.As(err, new(*argocd.DiscoverError)), errors.As(err, new(*argocd.RefusedError)):
		return exit.With(exit.Usage, err)
	default:
		return source.Coded(err)
	}
}
