package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// setTime is how much CPU time an ApplicationSet may take; tests shorten it.
var setTime = 20 * time.Second

func fromWire(errs []wire.SetError) []*repofs.InputError {
	var out []*repofs.InputError
	for _, e := range errs {
		out = append(out, &repofs.InputError{Position: e.Position, Message: e.Message, Hint: e.Hint})
	}
	return out
}

// Applications generates the Applications of an ApplicationSet in a worker. What is
// wrong with the set is part of the result; the error is that of ctx.
func Applications(ctx context.Context, set *yamldoc.Value, repository appset.Repository, data appset.Data) (appset.Result, error) {
	request, err := json.Marshal(wire.SetRequest{Set: set, Data: data})
	if err != nil {
		return appset.Result{}, fmt.Errorf("read an ApplicationSet: %w", err)
	}
	answer := func(_ context.Context, operation string, request []byte) ([]byte, error) {
		switch operation {
		case wire.OpOwn:
			return json.Marshal(repository.Own(string(request)))
		case wire.OpFiles:
			return json.Marshal(repository.Files())
		case wire.OpText:
			return repository.Read(string(request))
		default:
			return nil, fmt.Errorf("there is no operation %q", operation)
		}
	}
	body, err := Workers.Do(ctx, confine.Call{Method: wire.Set, Request: request, Answer: answer, Time: setTime})
	if err != nil {
		err = explain(err, set.Position, "the ApplicationSet "+set.TextAt("metadata", "name"))
		var problem *source.Error
		if ctx.Err() != nil {
			return appset.Result{}, err
		}
		if !errors.As(err, &problem) {
			problem = source.Errorf(set.Position, "the ApplicationSet %s is not evaluated: %w", set.TextAt("metadata", "name"), err)
		}
		return appset.Result{Unread: []*repofs.InputError{{Position: problem.Position, Message: problem.Reason, Err: err}}}, nil
	}
	var reply wire.SetReply
	if err := json.Unmarshal(body, &reply); err != nil {
		return appset.Result{}, fmt.Errorf("read the answer of a worker: %w", err)
	}
	return appset.Result{Applications: reply.Applications, Unread: fromWire(reply.Unread), Assumed: fromWire(reply.Assumed)}, nil
}
