package evaluate

import (
	"context"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/repo/resourceset"
)

// ResourceSet fills in the templates of a ResourceSet of Flux in a worker.
func ResourceSet(ctx context.Context, set resourceset.Set) ([]map[string]any, error) {
	return Ask[resourceset.Set, []map[string]any](ctx, wire.ResourceSet, set)
}
