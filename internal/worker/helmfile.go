package worker

import (
	"context"
	"encoding/json"
	"fmt"

	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// maxState is how much state files may make, in bytes of JSON.
const maxState = 64 << 20

// loadHelmfile is wire.Helmfile, in the worker.
func loadHelmfile(_ context.Context, body []byte, parent *confine.Parent) ([]byte, error) {
	var opts helmfile.Options
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &opts); err != nil {
		return nil, err
	}
	opts.Note = func(at finding.Position) {
		if data, err := json.Marshal(at); err == nil {
			parent.Note(data)
		}
	}
	result, err := helmfile.Load(repofs.NewAsked(parent.Ask), opts)
	data, jerr := json.Marshal(wire.HelmfileReply{Result: result, Failure: repofs.Fail(err)})
	if jerr == nil && len(data) > maxState {
		jerr = fmt.Errorf("they make more than %d MiB", maxState>>20)
	}
	return data, jerr
}
