//go:build !noplane

package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/controlplane"
	"github.com/rollout-ladder/ladder/internal/simulate"
)

// simulateWorld puts the simulated world into the plane; its log lies in the
// plane's folder. With the argument plane.EmptyWorld nothing runs pods.
func simulateWorld(ctx context.Context, w controlplane.World) error {
	if slices.Contains(w.Arguments, plane.EmptyWorld) {
		w.Ready()
		<-ctx.Done()
		return nil
	}
	log, err := os.OpenFile(filepath.Join(w.Dir, "world.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	return simulate.Run(ctx, w.Config, simulate.Options{
		Log:          slog.New(slog.NewTextHandler(log, nil)),
		Serve:        w.Serve,
		Certificates: w.Certificates,
		Orders:       w.Orders,
		Ready:        w.Ready,
	})
}
