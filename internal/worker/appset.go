package worker

import (
	"context"
	"encoding/json"

	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// applications is wire.Set, in the worker.
func applications(ctx context.Context, body []byte, parent *confine.Parent) ([]byte, error) {
	var request wire.SetRequest
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &request); err != nil {
		return nil, err
	}
	result, err := appset.Expand(ctx, request.Set, &askedRepository{parent: parent, own: map[string]bool{}}, request.Data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wire.SetReply{Applications: result.Applications, Unread: toWire(result.Unread), Assumed: toWire(result.Assumed)})
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
		data, err := r.parent.Ask(wire.OpOwn, []byte(repoURL))
		own = err == nil && string(data) == "true"
		r.own[repoURL] = own
	}
	return own
}

// Files implements appset.Repository.
func (r *askedRepository) Files() []string {
	if !r.asked {
		r.asked = true
		if data, err := r.parent.Ask(wire.OpFiles, nil); err == nil {
			_ = json.Unmarshal(data, &r.files) // the parent wrote it
		}
	}
	return r.files
}

// Read implements appset.Repository.
func (r *askedRepository) Read(file string) ([]byte, error) {
	return r.parent.Ask(wire.OpText, []byte(file))
}

func toWire(errs []*repofs.InputError) []wire.SetError {
	var out []wire.SetError
	for _, e := range errs {
		out = append(out, wire.SetError{Position: e.Position, Message: e.Message, Hint: e.Hint})
	}
	return out
}
