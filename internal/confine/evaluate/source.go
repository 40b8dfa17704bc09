package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// Fetch gets what is remote.
type Fetch struct {
	// Chart gets the archive of a chart.
	Chart source.Fetch
	// File gets one file over HTTP.
	File func(ctx context.Context, address string) ([]byte, error)
	// Base gets a file or a folder that a kustomization names.
	Base func(ctx context.Context, address string) (Base, error)
	// Repository gets a folder of a Git repository.
	Repository func(ctx context.Context, address string) (Base, error)
}

// Base is something remote that a kustomization takes in.
type Base struct {
	// Content is that of a file. Where the address is a repository, Tree is what it
	// holds and Path the folder in it.
	Content []byte
	Tree    *source.Tree
	Path    string
}

// Source renders a source in a worker, which sees the repository through the view.
// limit is how much CPU time it may take. Errors about the repository are
// *source.Error, or *source.UnavailableError; the Reply that stands beside one says
// what else is known.
func Source(ctx context.Context, view *source.Recording, request wire.Request, fetch Fetch, limit time.Duration) (wire.Reply, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return wire.Reply{}, source.Errorf(request.Source.Position, "the source cannot be read: %w", err)
	}
	body = append(append(body, '\n'), ahead(view, request.Source)...)
	answers := &answers{view: view, fetch: fetch, offline: request.Offline, checkouts: map[string]*source.Recording{}}
	// Kustomize keeps schemas and a client for the whole process.
	together := request.Source.Kind != model.Kustomize
	data, err := Workers.Do(ctx, confine.Call{Method: wire.Source, Request: body, Answer: answers.answer, Together: together, Time: limit})
	if err != nil {
		return wire.Reply{}, explain(err, request.Source.Position, "the source")
	}
	var reply wire.Reply
	if err := json.Unmarshal(data, &reply); err != nil {
		return wire.Reply{}, fmt.Errorf("read the answer of a worker: %w", err)
	}
	if reply.Remote {
		view.MarkRemote()
	}
	if reply.Failure != nil {
		return reply, reply.Failure.Err()
	}
	return reply, nil
}

// ahead tells a worker the files that it will ask for first.
func ahead(view *source.Recording, src model.Source) []byte {
	told := source.NewAhead(view)
	all := func(string) bool { return true }
	switch {
	case src.RepoURL != "" || src.Path == "":
	case src.Kind == model.Chart:
		told.Folder(src.Path, true, all)
		told.File(src.Path + "/.helmignore")
	case src.Kind == model.Kustomize:
		told.Folder(src.Path, false, all)
		for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
			told.File(src.Path + "/" + name)
		}
	case src.Kind == model.Manifests:
		told.Folder(src.Path, src.Recurse, source.Filter{Include: src.Include, Exclude: src.Exclude}.Takes)
	}
	for _, file := range src.ValueFiles {
		told.File(file.Path)
	}
	return told.Encode()
}

// explain turns the end of a worker into a problem of the repository. subject is
// what was evaluated, where the worker did not say more.
func explain(err error, at finding.Position, subject string) error {
	var limit *confine.LimitError
	var failed *confine.MethodError
	switch {
	case errors.As(err, &limit):
		n := wire.Note{Position: at, What: subject}
		_ = json.Unmarshal(limit.Note, &n) // without a note it is the subject
		return &source.Error{Position: n.Position, Err: err, Reason: fmt.Sprintf("%s %s; %s", n.What, limit.Error(), wayOut(limit.Limit))}
	case errors.As(err, &failed):
		return &source.Error{Position: at, Err: err, Reason: subject + " cannot be evaluated: " + failed.Text}
	default:
		return err
	}
}

func wayOut(limit confine.Limit) string {
	switch limit {
	case confine.Time, confine.Stack:
		return "look for a loop or an include of itself"
	case confine.Memory, confine.Output, confine.Questions:
		return "look for what makes it so large"
	default:
		return "please report it with the files that it reads"
	}
}
