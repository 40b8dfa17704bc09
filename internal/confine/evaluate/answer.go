package evaluate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// answers gives a worker what it asks for in one call.
type answers struct {
	view      *source.Recording
	fetch     Fetch
	offline   bool
	checkouts map[string]*source.Recording
}

func (a *answers) answer(ctx context.Context, operation string, request []byte) ([]byte, error) {
	view := a.view
	if rest, ok := strings.CutPrefix(operation, wire.OpCheckout); ok {
		id, inside, _ := strings.Cut(rest, "/")
		if view = a.checkouts[id]; view == nil {
			return nil, errors.New("there is no such checkout")
		}
		operation = inside
	}
	if data, ok, err := source.Answer(view, operation, request); ok {
		return data, err
	}
	if a.offline {
		return nil, fmt.Errorf("%s is not fetched offline; vendor it or run without --offline", what(operation, request))
	}
	a.view.MarkRemote()
	switch operation {
	case wire.OpChart:
		var r wire.ChartRequest
		if err := json.Unmarshal(request, &r); err != nil {
			return nil, errors.New("the question is malformed")
		}
		if a.fetch.Chart == nil {
			return nil, errNoFetch
		}
		return a.fetch.Chart(ctx, r.RepoURL, r.Name, r.Version)
	case wire.OpFile:
		if a.fetch.File == nil {
			return nil, errNoFetch
		}
		return a.fetch.File(ctx, string(request))
	case wire.OpBase:
		return a.base(ctx, string(request))
	default:
		return nil, fmt.Errorf("there is no operation %q", operation)
	}
}

var errNoFetch = errors.New("it is not fetched here")

// what names what is asked for, without credentials.
func what(operation string, request []byte) string {
	var r wire.ChartRequest
	if operation == wire.OpChart && json.Unmarshal(request, &r) == nil {
		return "the chart " + r.Name + " of " + finding.WithoutCredentials(r.RepoURL)
	}
	return finding.WithoutCredentials(string(request))
}

func (a *answers) base(ctx context.Context, where string) ([]byte, error) {
	if a.fetch.Base == nil {
		return nil, errNoFetch
	}
	base, err := a.fetch.Base(ctx, where)
	if err != nil {
		return nil, err
	}
	reply := wire.BaseReply{}
	if base.Tree != nil {
		reply = wire.BaseReply{Checkout: rand.Text(), Path: base.Path}
		a.checkouts[reply.Checkout] = base.Tree.View()
	}
	head, err := json.Marshal(reply)
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), base.Content...), nil
}
