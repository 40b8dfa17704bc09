package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// methodObjects parses manifests.
const methodObjects = "objects"

// maxObjects is how much the objects of one file may be, in bytes of JSON.
const maxObjects = 32 << 20

// parsed is one object of a file of manifests.
type parsed struct {
	Object map[string]any `json:"object"`
	Line   int            `json:"line"`
}

// Objects parses a file of manifests in a worker: what aliases expand to is bounded by
// the memory of the worker. limit is how much CPU time it may take.
func Objects(ctx context.Context, file string, data []byte, limit time.Duration) ([]manifest.Object, error) {
	reply, err := Workers.Do(ctx, confine.Call{Method: methodObjects, Request: data, Together: true, Time: limit})
	var ended *confine.LimitError
	if errors.As(err, &ended) {
		return nil, fmt.Errorf("reading it %w; %s", ended, wayOut(ended.Limit))
	}
	if err != nil {
		return nil, err
	}
	var all []parsed
	if err := kjson.UnmarshalCaseSensitivePreserveInts(reply, &all); err != nil {
		return nil, fmt.Errorf("read the answer of a worker: %w", err)
	}
	out := make([]manifest.Object, len(all))
	for i, p := range all {
		out[i] = manifest.Object{Unstructured: &unstructured.Unstructured{Object: p.Object}, Origin: manifest.Origin{File: file, Line: p.Line}}
	}
	return out, nil
}

// parseObjects is methodObjects, in the worker.
func parseObjects(_ context.Context, data []byte, _ *confine.Parent) ([]byte, error) {
	found, err := manifest.Parse(data)
	if err != nil {
		return nil, err
	}
	all := make([]parsed, len(found))
	for i, p := range found {
		all[i] = parsed{p.Object.Object, p.Line}
	}
	out, err := json.Marshal(all)
	if err == nil && len(out) > maxObjects {
		err = fmt.Errorf("its objects make more than %d MiB; look for aliases of what is large", maxObjects>>20)
	}
	return out, err
}
