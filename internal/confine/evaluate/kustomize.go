package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// buildTime is how much CPU time a kustomization may take.
const buildTime = time.Minute

// Kustomization builds the kustomization of a folder in a worker, which sees what
// the view shows it. Nothing is fetched. It returns the objects in kustomize's own
// order.
func Kustomization(ctx context.Context, view source.View, folder string) ([]map[string]any, error) {
	files := func(_ context.Context, operation string, request []byte) ([]byte, error) {
		data, ok, err := source.Answer(view, operation, request)
		if !ok {
			return nil, fmt.Errorf("%s is not read; copy it into the repository", request)
		}
		return data, err
	}
	data, err := Workers.Do(ctx, confine.Call{Method: wire.Build, Request: []byte(folder), Answer: files, Time: buildTime})
	var failed *confine.MethodError
	if errors.As(err, &failed) {
		return nil, failed
	}
	if err != nil {
		return nil, explain(err, finding.Position{File: folder}, "the kustomization "+folder)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("read the answer of a worker: %w", err)
	}
	objects := make([]map[string]any, len(raw))
	for i, one := range raw {
		if err := utiljson.Unmarshal(one, &objects[i]); err != nil {
			return nil, fmt.Errorf("read the answer of a worker: %w", err)
		}
	}
	return objects, nil
}
