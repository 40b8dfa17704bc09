package evaluate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/fetch"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// With fetches with a fetcher.
func With(f *fetch.Fetcher) Fetch {
	return Fetch{
		Chart: f.Chart, File: f.File,
		Base:       func(ctx context.Context, address string) (Base, error) { return base(ctx, f, address) },
		Repository: func(ctx context.Context, address string) (Base, error) { return repository(ctx, f, address) },
	}
}

// base gets a file or a folder. An address over HTTP may be that of a file or of a
// repository, as for kustomize, which asks for the file first.
func base(ctx context.Context, f *fetch.Fetcher, address string) (Base, error) {
	if strings.HasPrefix(strings.ToLower(address), "http") {
		content, err := f.File(ctx, address)
		var status *fetch.StatusError
		if err == nil {
			return Base{Content: content}, nil
		}
		if _, ok := fetch.ParseRepository(address); !ok || !errors.As(err, &status) && !errors.Is(err, fetch.ErrNotFile) {
			return Base{}, err
		}
	}
	return repository(ctx, f, address)
}

// repository gets a folder of a repository.
func repository(ctx context.Context, f *fetch.Fetcher, address string) (Base, error) {
	checkout, err := f.Repository(ctx, address)
	if err != nil {
		return Base{}, err
	}
	tree, err := source.NewTree(checkout.Dir, checkout.Dir)
	if err != nil {
		return Base{}, fmt.Errorf("open what was fetched: %w", err)
	}
	return Base{Tree: tree, Path: checkout.Path}, nil
}
