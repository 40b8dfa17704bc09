package helm

import (
	"context"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// loadRemote fetches a chart from its repository. What it renders has the
// position of the descriptor that names it.
func loadRemote(ctx context.Context, view source.View, src model.Source, opts Options) (*loadedChart, error) {
	name := source.RemoteName(src)
	if opts.Fetch == nil {
		return nil, &source.UnavailableError{Lacking: source.Lacking{Source: src, Err: &source.Error{Position: src.Position,
			Reason: fmt.Sprintf("remote chart %s is %s; vendor it or run without --offline", name, finding.Offline)}}}
	}
	view.MarkRemote()
	data, err := opts.Fetch(ctx, src.RepoURL, src.Name, src.Version)
	if err != nil {
		return nil, &source.UnavailableError{Lacking: source.Lacking{Source: src, Err: &source.Error{Position: src.Position, Err: err,
			Reason: fmt.Sprintf("remote chart %s cannot be fetched: %v; check repository, name and version, or vendor it", name, err)}}}
	}
	return loadArchive(data, src.Position, src.Position)
}
