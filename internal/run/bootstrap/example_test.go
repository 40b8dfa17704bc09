package bootstrap_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

// The install.yaml of the release of Argo CD that the example pins. The module of
// the same version has the same file.
const pinnedArgoCD = "09bfbb9041b4a8503c6e4fa22cf41c403fa62be17526de353648a4551f5beb77"

// TestExample brings the example platform up by its own configuration, until its last
// smoke holds: k3d, for which a command stands in, the release of Argo CD, and a token in
// the file .env. Nothing reads the repository of the platform here: a rehearsal rolls the
// platform out on the same plane, and the Applications are said to be Healthy.
func TestExample(t *testing.T) {
	if testing.Short() {
		t.Skip("starts control planes")
	}
	t.Parallel()
	m := newMaker(t, "k3d", "ameide-dev")
	if err := os.CopyFS(m.dir, os.DirFS(filepath.Join("..", "..", "..", "examples", "ameide"))); err != nil {
		t.Fatal(err)
	}
	m.config, m.flags = "bootstrap/configs/dev.yaml", []string{"--offline"}
	write(t, filepath.Join(m.dir, ".env"), "GITHUB_TOKEN="+canaryToken+"\n")
	cache := t.TempDir()
	m.environment = append(m.environment, "XDG_CACHE_HOME="+cache, "GITHUB_TOKEN=")
	module := strings.TrimSpace(string(command(t, ".", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3")))
	install, err := os.ReadFile(filepath.Join(module, "manifests", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(cache, "ladder", "bootstrap", pinnedArgoCD), string(install))

	// The copy is the top of its repository, and so named after the address.
	m.applications = append([]string{"ladder-dev"}, m.components()...)
	rolledOut := m.rollOutBeside("ladder-dev")
	b := m.bootstrap()
	if err := <-rolledOut; err != nil {
		t.Fatal(err)
	}
	if b.Result != report.BootstrapSucceeded || b.Cluster != "k3d-ameide-dev" {
		t.Fatalf("result %s on %s: %+v", b.Result, b.Cluster, states(b))
	}
	asked, err := os.ReadFile(filepath.Join(m.folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "k3d cluster create ameide-dev --config " + filepath.Join(m.dir, "bootstrap/configs/k3d.yaml") + "\n"; !strings.HasSuffix(string(asked), want) {
		t.Errorf("k3d was asked:\n%s\nwant last: %s", asked, want)
	}
	for object, want := range map[string]string{
		"cluster k3d-ameide-dev": report.ObjectCreated, "Secret argocd/ameide": report.ObjectCreated,
		"Deployment argocd/argocd-server": report.ObjectCreated, "Application argocd/ladder-dev": report.ObjectCreated,
	} {
		if got := action(b, object).Action; got != want {
			t.Errorf("%s: %q, want %q", object, got, want)
		}
	}
	repository := m.get(core("secrets"), "argocd", "ameide")
	if repository.GetLabels()["argocd.argoproj.io/secret-type"] != "repository" {
		t.Errorf("the Secret of the repository has the labels %v", repository.GetLabels())
	}
	if params := m.get(core("configmaps"), "argocd", "argocd-cmd-params-cm").Object["data"]; params.(map[string]any)["applicationsetcontroller.enable.progressive.syncs"] != "true" {
		t.Errorf("RollingSync is off: %v", params)
	}
	if _, err := m.client.Resource(argo("applications")).Namespace("argocd").Get(t.Context(), "ladder-dev", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}

	b = m.bootstrap()
	want := unchanged()
	want["cluster"], want["pre-argo"] = report.StageUnchanged, report.StageSkipped
	if got := states(b); b.Result != report.BootstrapSucceeded || !maps.Equal(got, want) {
		t.Errorf("again: result %s: %v, want %v", b.Result, got, want)
	}
	m.checkCanaries()
}

// components are those that are enabled in dev.
func (m *made) components() []string {
	m.t.Helper()
	var planned struct {
		Order []string `json:"order"`
	}
	if err := json.Unmarshal(m.ladder("plan", m.dir, "-e", "dev", "--offline", "--format", "json"), &planned); err != nil || len(planned.Order) == 0 {
		m.t.Fatalf("no plan: %v", err)
	}
	return planned.Order
}

// ladder runs the command in the environment of the test.
func (m *made) ladder(args ...string) []byte {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), planetest.Binary(m.t), args...)
	cmd.Env = m.environment
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("ladder %v: %v\n%s", args, err, out)
	}
	return out
}

// rollOutBeside rehearses the platform on the plane of the bootstrap, as soon as that has
// applied the root Application.
func (m *made) rollOutBeside(root string) <-chan error {
	program, ended := planetest.Binary(m.t), make(chan error, 1)
	go func() {
		ended <- func() error {
			for !m.hasRoot(root) {
				select {
				case <-m.t.Context().Done():
					return m.t.Context().Err()
				case <-time.After(200 * time.Millisecond):
				}
			}
			// With Argo CD's part played the plane is never idle, so that no time can be skipped.
			cmd := exec.CommandContext(m.t.Context(), program, "rehearse", m.dir, "-e", "dev", "--offline", "--plane", m.tool+"-ameide-dev", "--speed", "60", "--progress", "none")
			cmd.Env = m.environment
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("rehearse: %w\n%s", err, out)
			}
			return nil
		}()
	}()
	return ended
}

// hasRoot reports whether the cluster is there, and an Application in it.
func (m *made) hasRoot(name string) bool {
	text, err := os.ReadFile(m.kubeconfig())
	if err != nil {
		return false
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return false
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return false
	}
	_, err = client.Resource(argo("applications")).Namespace("argocd").Get(m.t.Context(), name, metav1.GetOptions{})
	return err == nil
}
