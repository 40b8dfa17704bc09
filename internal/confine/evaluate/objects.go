package evaluate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Objects parses a file of manifests in a worker: what aliases expand to is bounded by
// the memory of the worker. limit is how much CPU time it may take.
func Objects(ctx context.Context, file string, data []byte, limit time.Duration) ([]manifest.Object, error) {
	reply, err := Workers.Do(ctx, confine.Call{Method: wire.Objects, Request: data, Together: true, Time: limit})
	var ended *confine.LimitError
	if errors.As(err, &ended) {
		return nil, fmt.Errorf("reading it %w; %s", ended, wayOut(ended.Limit))
	}
	if err != nil {
		return nil, err
	}
	var all []wire.Parsed
	if err := kjson.UnmarshalCaseSensitivePreserveInts(reply, &all); err != nil {
		return nil, fmt.Errorf("read the answer of a worker: %w", err)
	}
	out := make([]manifest.Object, len(all))
	for i, p := range all {
		out[i] = manifest.Object{Unstructured: &unstructured.Unstructured{Object: p.Object}, Origin: manifest.Origin{File: file, Line: p.Line}}
	}
	return out, nil
}
