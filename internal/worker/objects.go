package worker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// maxObjects is how much the objects of one file may be, in bytes of JSON.
const maxObjects = 32 << 20

// parseObjects is wire.Objects, in the worker.
func parseObjects(_ context.Context, data []byte, _ *confine.Parent) ([]byte, error) {
	found, err := manifest.Parse(data)
	if err != nil {
		return nil, err
	}
	all := make([]wire.Parsed, len(found))
	for i, p := range found {
		all[i] = wire.Parsed{Object: p.Object.Object, Line: p.Line}
	}
	out, err := json.Marshal(all)
	if err == nil && len(out) > maxObjects {
		err = fmt.Errorf("its objects make more than %d MiB; look for aliases of what is large", maxObjects>>20)
	}
	return out, err
}
