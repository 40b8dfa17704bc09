package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/plane"
)

func TestNamedPlanes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	registry := plane.NewRegistry(filepath.Join(t.TempDir(), strings.Repeat("a-long-folder-name-", 8), "planes"))
	options := plane.Options{Executable: ladderBinary(t), Timeout: patience}
	t.Cleanup(func() {
		for _, name := range []string{"dev", "other"} {
			if err := registry.Down(context.Background(), name); err != nil && !errors.As(err, new(*plane.NotFoundError)) {
				t.Error(err)
			}
		}
	})

	type up struct {
		plane   *plane.Plane
		started bool
	}
	ups := make([]up, 2)
	var wg sync.WaitGroup
	for i := range ups {
		wg.Go(func() {
			p, started, err := registry.Up(ctx, "dev", options)
			if err != nil {
				t.Error(err)
				return
			}
			ups[i] = up{p, started}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if ups[0].started == ups[1].started || ups[0].plane.PID != ups[1].plane.PID {
		t.Fatalf("two ups at once: %+v and %+v", ups[0], ups[1])
	}
	dev := ups[0].plane

	other, started, err := registry.Up(ctx, "other", options)
	if err != nil || !started {
		t.Fatalf("another name: started %v, %v", started, err)
	}
	if other.PID == dev.PID || other.Server == dev.Server {
		t.Errorf("both names are one plane: %+v, %+v", dev, other)
	}
	if diff := cmp.Diff([]string{"dev", "other"}, names(t, registry)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	got, err := registry.Get(ctx, "dev")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientOf(t, got).Discovery().ServerVersion(); err != nil {
		t.Errorf("the kubeconfig of a plane that another process started: %v", err)
	}

	// A plane that died leaves no entry.
	if err := syscall.Kill(other.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if list := names(t, registry); !cmp.Equal([]string{"dev"}, list) {
			return fmt.Errorf("the list is %v", list)
		}
		return nil
	})
	if err := registry.Down(ctx, "other"); !errors.As(err, new(*plane.NotFoundError)) {
		t.Errorf("taking a dead plane down: %v", err)
	}

	if err := registry.Down(ctx, "dev"); err != nil {
		t.Fatal(err)
	}
	if err := gone(got.PID, got.Dir); err != nil {
		t.Error(err)
	}
	if list := names(t, registry); len(list) != 0 {
		t.Errorf("after down the list is %v", list)
	}
	if _, err := registry.Get(ctx, "dev"); !errors.As(err, new(*plane.NotFoundError)) {
		t.Errorf("after down, get: %v", err)
	}
}

func names(t *testing.T, registry *plane.Registry) []string {
	t.Helper()
	planes, err := registry.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, p := range planes {
		list = append(list, p.Name)
	}
	return list
}
