package worker

import (
	"context"
	"encoding/json"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/repo/render/kustomize"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// build is wire.Build, in the worker.
func build(_ context.Context, folder []byte, parent *confine.Parent) ([]byte, error) {
	loading.serve(parent)
	defer loading.serve(nil)
	objects, err := kustomize.Build(source.NewAsked(parent.Ask), string(folder))
	if err != nil {
		return nil, err
	}
	return json.Marshal(objects)
}
