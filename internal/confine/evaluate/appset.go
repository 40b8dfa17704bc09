package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// methodSet generates the Applications of an ApplicationSet.
const methodSet = "applicationset"

// setTime is how much CPU time an ApplicationSet may take; tests shorten it.
var setTime = 20 * time.Second

// The operations by which the generators of a set ask about the repository.
const (
	opOwn   = "own"
	opFiles = "files"
	opText  = "text"
)

type setRequest struct {
	Set  *yamldoc.Value `json:"set"`
	Data appset.Data    `json:"data"`
}

// setReply is an appset.Result; the causes of its errors stay behind.
type setReply struct {
	Applications []appset.Application `json:"applications"`
	Unread       []setError           `json:"unread"`
	Assumed      []setError           `json:"assumed"`
}

type setError struct {
	Position finding.Position `json:"position"`
	Message  string           `json:"message"`
	Hint     string           `json:"hint"`
}

func toWire(errs []*repofs.InputError) []setError {
	var out []setError
	for _, e := range errs {
		out = append(out, setError{e.Position, e.Message, e.Hint})
	}
	return out
}

func fromWire(errs []setError) []*repofs.InputError {
	var out []*repofs.InputError
	for _, e := range errs {
		out = append(out, &repofs.InputError{Position: e.Position, Message: e.Message, Hint: e.Hint})
	}
	return out
}

// Applications generates the Applications of an ApplicationSet in a worker. What is
// wrong with the set is part of the result; the error is that of ctx.
func Applications(ctx context.Context, set *yamldoc.Value, repository appset.Repository, data appset.Data) (appset.Result, error) {
	request, err := json.Marshal(setRequest{set, data})
	if err != nil {
		return appset.Result{}, fmt.Errorf("read an ApplicationSet: %w", err)
	}
	answer := func(_ context.Context, operation string, request []byte) ([]byte, error) {
		switch operation {
		case opOwn:
			return json.Marshal(repository.Own(string(request)))
		case opFiles:
			return json.Marshal(repository.Files())
		case opText:
			return repository.Read(string(request))
		default:
			return nil, fmt.Errorf("there is no operation %q", operation)
		}
	}
	body, err := Workers.Do(ctx, confine.Call{Method: methodSet, Request: request, Answer: answer, Time: setTime})
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
	var reply setReply
	if err := json.Unmarshal(body, &reply); err != nil {
		return appset.Result{}, fmt.Errorf("read the answer of a worker: %w", err)
	}
	return appset.Result{Applications: reply.Applications, Unread: fromWire(reply.Unread), Assumed: fromWire(reply.Assumed)}, nil
}

// applications is methodSet, in the worker.
func applications(ctx context.Context, body []byte, parent *confine.Parent) ([]byte, error) {
	var request setRequest
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &request); err != nil {
		return nil, err
	}
	result, err := appset.Expand(ctx, request.Set, &askedRepository{parent: parent, own: map[string]bool{}}, request.Data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(setReply{result.Applications, toWire(result.Unread), toWire(result.Assumed)})
}

// askedRepository is what the generators of a set see in a worker.
type askedRepository struct {
	parent *confine.Parent
	own    map[string]bool
	files  []string
	asked  bool
}

// Own implements appset.Repository.
func (r *askedRepository) Own(repoURL string) bool {
	own, known := r.own[repoURL]
	if !known {
		data, err := r.parent.Ask(opOwn, []byte(repoURL))
		own = err == nil && string(data) == "true"
		r.own[repoURL] = own
	}
	return own
}

// Files implements appset.Repository.
func (r *askedRepository) Files() []string {
	if !r.asked {
		r.asked = true
		if data, err := r.parent.Ask(opFiles, nil); err == nil {
			_ = json.Unmarshal(data, &r.files) // the parent wrote it
		}
	}
	return r.files
}

// Read implements appset.Repository.
func (r *askedRepository) Read(file string) ([]byte, error) {
	return r.parent.Ask(opText, []byte(file))
}
