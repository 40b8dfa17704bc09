package bootstrap_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/plane/argocd"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
	"github.com/rollout-ladder/ladder/internal/run/bootstrap"
)

// controllers finds the binary with the controllers of Argo CD: LADDER_ARGOCD,
// else beside the command under test.
func controllers(t *testing.T) string {
	t.Helper()
	named := os.Getenv("LADDER_ARGOCD")
	if named == "" {
		named = filepath.Join("..", "..", "..", "bin", argocd.BinaryName)
	}
	path, err := argocd.Find(named)
	if err != nil {
		t.Skipf("%v (make argocd)", err)
	}
	return path
}

func command(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, said.String())
	}
	return out
}

// TestRealArgoCD takes an empty plane to a platform that the real controllers of
// Argo CD have rolled out from what ladder generate wrote: their pods are
// simulated there, so they run beside it, as soon as the bootstrap has installed
// what they need.
func TestRealArgoCD(t *testing.T) {
	executable := controllers(t)
	w := newWorld(t)
	repository := w.dir + ".git"
	w.edit("ladder.yaml", "https://git.example.com/acme/platform.git", "file://"+repository)
	w.edit("bootstrap/dev.yaml", "root:\n  paths: [bootstrap/root.yaml]\n", "  - name: argocd-secret\n    namespace: argocd\n    data:\n      server.secretkey: {env: BOOT_SEAL}\n")
	w.edit("bootstrap/dev.yaml", "  manifest: {path: bootstrap/argocd/install.yaml}\n", "  manifest: {path: bootstrap/real}\n")
	w.edit("bootstrap/dev.yaml", "  settings: [bootstrap/argocd/settings.yaml]\n", "")
	text, err := os.ReadFile(filepath.Join(w.dir, "bootstrap", "argocd", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rest []string
	for _, document := range strings.Split(string(text), "\n---\n") {
		if !strings.Contains(document, "kind: CustomResourceDefinition") {
			rest = append(rest, document)
		}
	}
	write(t, filepath.Join(w.dir, "bootstrap", "real", "install.yaml"), strings.Join(rest, "\n---\n"))
	write(t, filepath.Join(w.dir, "bootstrap", "real", "crds.yaml"), string(command(t, w.dir, executable, "crds")))
	command(t, w.dir, "git", "init", "--quiet", "--initial-branch", "main")
	command(t, w.dir, planetest.Binary(t), "generate", "--no-cache", "--smoke-image", "registry.example.com/ladder:1")
	write(t, filepath.Join(w.dir, ".gitignore"), "/secret/\n/bootstrap/real/crds.yaml\n")
	command(t, w.dir, "git", "add", "--all")
	command(t, w.dir, "git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--message", "t")
	command(t, filepath.Dir(w.dir), "git", "clone", "--quiet", "--bare", w.dir, repository)

	ctx, stop := context.WithCancel(t.Context())
	started := make(chan error, 1)
	go func() { started <- w.startArgoCD(ctx, executable, repository) }()
	t.Cleanup(func() {
		stop()
		if err := <-started; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})

	b := w.run(t.Context(), func(o *bootstrap.Options) { o.Config.Wait.Grace = time.Minute })
	if b.Result != report.BootstrapSucceeded {
		t.Fatalf("result %s\n%s", b.Result, w.said.String())
	}
	// The root Application syncs the projects and settings that the bootstrap has
	// applied: it has adopted them.
	project := w.get(argo("appprojects"), "argocd", "platform")
	if project.GetAnnotations()["argocd.argoproj.io/tracking-id"] == "" {
		t.Errorf("the project is not adopted: %v", project.GetAnnotations())
	}
	w.checkInstalled()
	again := w.run(t.Context(), nil)
	want := unchanged()
	if diff := cmp.Diff(want, states(again)); diff != "" {
		t.Error(diff)
	}
	if got := action(again, "AppProject argocd/platform").Action; got != "adopted" {
		t.Errorf("the project is %s", got)
	}
	w.checkCanaries()
}

// startArgoCD starts the controllers, which may read one repository of this machine,
// when the bootstrap has installed Argo CD, and stops them at the end of ctx.
func (w *world) startArgoCD(ctx context.Context, executable, repository string) error {
	for {
		server, err := w.client.Resource(apps("deployments")).Namespace("argocd").Get(ctx, "argocd-server", metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err == nil {
			if ready, _, _ := unstructured.NestedInt64(server.Object, "status", "availableReplicas"); ready > 0 {
				break
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	dir, err := os.MkdirTemp("", "ladder-argocd-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	running, err := argocd.Start(ctx, argocd.Options{Executable: executable, Kubeconfig: w.plane.Kubeconfig, Dir: dir, Repositories: repository})
	if err != nil {
		return err
	}
	<-ctx.Done()
	running.Stop()
	return nil
}
