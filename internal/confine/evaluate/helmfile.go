package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// maxBroken is how many state files may end their worker before the rest is given
// up as well.
const maxBroken = 3

// Helmfile reads state files of Helmfile in a worker, which asks for the files of
// the tree. limit is how much CPU time it may take. A file that ends its worker is
// left out and told as a problem. Errors about the repository are *repofs.InputError.
func Helmfile(ctx context.Context, tree *repofs.Tree, opts helmfile.Options, limit time.Duration) (*helmfile.Result, error) {
	opts.Broken = maps.Clone(opts.Broken)
	if opts.Broken == nil {
		opts.Broken = map[string]helmfile.Broken{}
	}
	answer := func(ctx context.Context, operation string, request []byte) ([]byte, error) {
		data, ok, err := repofs.Answer(ctx, tree, operation, request)
		if !ok {
			return nil, fmt.Errorf("%s is not fetched; vendor it", what(operation, request))
		}
		return data, err
	}
	for {
		body, err := json.Marshal(opts)
		if err != nil {
			return nil, fmt.Errorf("ask for the state files: %w", err)
		}
		data, err := Workers.Do(ctx, confine.Call{Method: wire.Helmfile, Request: body, Answer: answer, Time: limit})
		var ended *confine.LimitError
		var failed *confine.MethodError
		switch {
		case errors.As(err, &ended):
			at := finding.Position{File: opts.Path}
			_ = json.Unmarshal(ended.Note, &at) // without a note it is all
			reason := fmt.Sprintf("evaluating %s %s", at.File, ended.Error())
			if _, again := opts.Broken[at.File]; again || len(opts.Broken) == maxBroken {
				return nil, &repofs.InputError{Position: at, Message: reason, Hint: wayOut(ended.Limit), Err: err}
			}
			opts.Broken[at.File] = helmfile.Broken{Position: at, Reason: reason + "; " + wayOut(ended.Limit)}
			continue
		case errors.As(err, &failed):
			return nil, &repofs.InputError{Position: finding.Position{File: opts.Path}, Message: "the state files cannot be evaluated: " + failed.Text, Err: err}
		case err != nil:
			return nil, err
		}
		var reply wire.HelmfileReply
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &reply); err != nil {
			return nil, fmt.Errorf("read the answer of a worker: %w", err)
		}
		return reply.Result, reply.Failure.Err()
	}
}
