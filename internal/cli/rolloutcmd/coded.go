package rolloutcmd

import (
	"errors"

	"github.com/rollout-ladder/ladder/internal/argocd/engine"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/outcome"
)

// coded gives an error of a rollout its exit code.
func coded(err error) error {
	if errors.As(err, new(*engine.DiscoverError)) || errors.As(err, new(*engine.RefusedError)) {
		return exit.With(exit.Usage, err)
	}
	return outcome.Coded(err)
}
