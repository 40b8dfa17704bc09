package bootstrap_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// The install.yaml of the release of Argo CD that the example pins. The module of
// the same version has the same file.
const pinnedArgoCD = "09bfbb9041b4a8503c6e4fa22cf41c403fa62be17526de353648a4551f5beb77"

// TestExample brings the example platform up by its own configuration: k3d, for which
// a command stands in, the release of Argo CD, and a token in the file .env. Nothing
// reads the repository of the platform here, so nothing waits for its Applications.
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
	m.edit(m.config, "wait: {grace: 5m, timeout: 40m}", "wait: {skip: true}")
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
	b := m.bootstrap()
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
	want["cluster"], want["pre-argo"], want["platform"] = report.StageUnchanged, report.StageSkipped, report.StageSkipped
	if got := states(b); b.Result != report.BootstrapSucceeded || !maps.Equal(got, want) {
		t.Errorf("again: result %s: %v, want %v", b.Result, got, want)
	}
	m.checkCanaries()
}
