package plane_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/child"
)

// TestMain lets the test binary play the ladder binary: run as `plane run` it is
// a child that keeps the protocol and has no control plane.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "plane" && os.Args[2] == "run" {
		os.Exit(fakePlane(os.Args[3:]))
	}
	os.Exit(m.Run())
}

// fakePlane behaves as the first argument for the world says.
func fakePlane(args []string) int {
	o, err := child.Parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	behaviour := ""
	if len(o.World) > 0 {
		behaviour = o.World[0]
	}
	switch behaviour {
	case "fails":
		fmt.Fprintln(os.Stderr, "etcd: no space left on device")
		_ = child.Message{Error: "start etcd: no space left on device"}.Write(os.Stdout)
		return 3
	case "crashes":
		fmt.Fprintln(os.Stderr, "panic: index out of range")
		return 2
	case "dawdles":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	kubeconfig := filepath.Join(o.Dir, child.KubeconfigFile)
	if err := os.WriteFile(kubeconfig, nil, 0o600); err != nil {
		return 3
	}
	_ = child.Message{Kubeconfig: kubeconfig, Server: "https://127.0.0.1:1", Ready: time.Millisecond}.Write(os.Stdout)
	if behaviour == "ends" {
		fmt.Fprintln(os.Stderr, child.LastWords+"no memory is left")
		fmt.Fprint(os.Stderr, strings.Repeat("a component that has not ended yet writes on\n", 1000))
		return 3
	}
	end := make(chan struct{}, 1)
	terminated := make(chan os.Signal, 1)
	if behaviour == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	} else {
		signal.Notify(terminated, syscall.SIGTERM)
	}
	go func() {
		if child.AwaitEnd(os.Stdin) && behaviour != "stubborn" {
			end <- struct{}{}
		}
	}()
	select {
	case <-end:
	case <-terminated:
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		return 3
	}
	return 0
}

func options(behaviour ...string) plane.Options {
	return plane.Options{Executable: os.Args[0], World: behaviour, Timeout: time.Minute}
}

func missing(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", path, err)
	}
}

// TestLastWords: what components write while a plane ends does not hide why it did.
func TestLastWords(t *testing.T) {
	p, err := plane.Start(t.Context(), options("ends"))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if words := p.LastWords(); words != "no memory is left" {
		t.Errorf("got %q", words)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStartAndStop(t *testing.T) {
	for name, behaviour := range map[string]string{"ends when asked": "", "ends when killed": "stubborn"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			p, err := plane.Start(t.Context(), options(behaviour))
			if err != nil {
				t.Fatal(err)
			}
			if p.ReadyAfter <= 0 || p.PID <= 0 || p.Kubeconfig != filepath.Join(p.Dir, child.KubeconfigFile) {
				t.Errorf("started %+v", p)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if err := p.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			select {
			case <-p.Done():
			default:
				t.Error("Done is open after Stop")
			}
			missing(t, p.Dir)
		})
	}
}

func TestStartThatFails(t *testing.T) {
	cases := map[string]struct {
		behaviour string
		timeout   time.Duration
		reason    string
		log       []string
	}{
		"says why":         {"fails", time.Minute, "start etcd: no space left on device", []string{"etcd: no space left on device"}},
		"dies in silence":  {"crashes", time.Minute, child.ErrSilent.Error(), []string{"panic: index out of range"}},
		"never gets ready": {"dawdles", 200 * time.Millisecond, "not ready after 200ms", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := options(tc.behaviour)
			o.Timeout = tc.timeout
			o.Dir = filepath.Join(t.TempDir(), "plane")
			_, err := plane.Start(t.Context(), o)
			var failure *plane.StartError
			if !errors.As(err, &failure) {
				t.Fatalf("got %v", err)
			}
			if failure.Reason.Error() != tc.reason {
				t.Errorf("reason %q, want %q", failure.Reason, tc.reason)
			}
			if diff := cmp.Diff(tc.log, failure.Log); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			missing(t, o.Dir)
		})
	}
}

func TestStartWithoutABinary(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plane")
	_, err := plane.Start(t.Context(), plane.Options{Executable: filepath.Join(dir, "nowhere"), Dir: dir})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	missing(t, dir)
}

func TestRegistry(t *testing.T) {
	ctx := t.Context()
	r := plane.NewRegistry(filepath.Join(t.TempDir(), "planes"))
	if list, err := r.List(ctx); err != nil || len(list) != 0 {
		t.Errorf("without a folder, List: %v, %v", list, err)
	}
	if _, err := r.Get(ctx, "dev"); !errors.As(err, new(*plane.NotFoundError)) {
		t.Errorf("without a folder, Get: %v", err)
	}

	const callers = 4
	planes := make([]*plane.Plane, callers)
	starters := make([]bool, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			var err error
			if planes[i], starters[i], err = r.Up(ctx, "dev", options()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	started := 0
	for i := range callers {
		if starters[i] {
			started++
		}
		if planes[i].PID != planes[0].PID {
			t.Errorf("callers got planes %d and %d", planes[i].PID, planes[0].PID)
		}
	}
	if started != 1 {
		t.Errorf("%d callers started a plane", started)
	}

	got, err := r.Get(ctx, "dev")
	if err != nil {
		t.Fatal(err)
	}
	if got.Dir != planes[0].Dir || got.Kubeconfig != planes[0].Kubeconfig || got.Server != planes[0].Server || got.ReadyAfter <= 0 {
		t.Errorf("Get: %+v", got)
	}
	if err := r.Down(ctx, "dev"); err != nil {
		t.Fatal(err)
	}
	missing(t, got.Dir)
	if err := r.Down(ctx, "dev"); !errors.As(err, new(*plane.NotFoundError)) {
		t.Errorf("down again: %v", err)
	}

	// The name can be used again at once.
	p, again, err := r.Up(ctx, "dev", options())
	if err != nil || !again || p.PID == got.PID {
		t.Fatalf("up again: %+v, %v, %v", p, again, err)
	}
	if err := r.Down(ctx, "dev"); err != nil {
		t.Fatal(err)
	}
}

func TestRegistryForgetsTheDead(t *testing.T) {
	ctx := t.Context()
	root := filepath.Join(t.TempDir(), "planes")
	r := plane.NewRegistry(root)
	p, _, err := r.Up(ctx, "dev", options())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if list, err := r.List(ctx); err != nil || len(list) != 0 {
		t.Errorf("List: %v, %v", list, err)
	}
	missing(t, filepath.Join(root, "dev"))
}

func TestRegistryThatFailsToStart(t *testing.T) {
	root := filepath.Join(t.TempDir(), "planes")
	_, _, err := plane.NewRegistry(root).Up(t.Context(), "dev", options("fails"))
	if !errors.As(err, new(*plane.StartError)) {
		t.Errorf("got %v", err)
	}
	missing(t, filepath.Join(root, "dev"))
}

func TestRegistryNames(t *testing.T) {
	r := plane.NewRegistry(filepath.Join(t.TempDir(), "planes"))
	for _, name := range []string{"", "..", "a/b", "Dev", "-x", "x-", strings.Repeat("a", 64), "a.b"} {
		if _, _, err := r.Up(t.Context(), name, options()); !errors.As(err, new(*plane.NameError)) {
			t.Errorf("Up(%q): %v", name, err)
		}
		if _, err := r.Get(t.Context(), name); !errors.As(err, new(*plane.NameError)) {
			t.Errorf("Get(%q): %v", name, err)
		}
	}
}

func TestDefaultRegistryFollowsXDG(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	r, err := plane.DefaultRegistry()
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := r.Up(t.Context(), "dev", options())
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(state, "ladder", "planes", "dev"); !strings.HasPrefix(p.Dir, want) {
		t.Errorf("the plane is at %s, want below %s", p.Dir, want)
	}
	if err := r.Down(t.Context(), "dev"); err != nil {
		t.Error(err)
	}
}
