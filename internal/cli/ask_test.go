package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
)

// TestAskWhereOneNamespaceIsForbidden asks a cluster that lets the namespace of OpenShift
// GitOps be read and not the one that Argo CD calls its own.
func TestAskWhereOneNamespaceIsForbidden(t *testing.T) {
	for name, test := range map[string]struct {
		installed bool
		code      exit.Code
		want      string
	}{
		"in the other": {true, exit.OK, "application.instanceLabelKey: team"},
		"in neither":   {false, exit.CouldNotRun, "may not"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := func(code int, body map[string]any) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(code)
					_ = json.NewEncoder(w).Encode(body)
				}
				status := func(code int, reason string) {
					answer(code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": "you may not", "code": code})
				}
				switch {
				case r.URL.Path == "/version":
					answer(http.StatusOK, map[string]any{"gitVersion": "v1.34.0"})
				case strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/argocd/"):
					status(http.StatusForbidden, "Forbidden")
				case test.installed && r.URL.Path == "/api/v1/namespaces/openshift-gitops/configmaps/argocd-cm":
					answer(http.StatusOK, map[string]any{
						"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "argocd-cm", "namespace": "openshift-gitops"},
						"data": map[string]any{"application.instanceLabelKey": "team"},
					})
				default:
					status(http.StatusNotFound, "NotFound")
				}
			}))
			defer server.Close()
			file := filepath.Join(t.TempDir(), "kubeconfig")
			config := `{apiVersion: v1, kind: Config, clusters: [{name: hub, cluster: {server: "` + server.URL + `"}}], contexts: [{name: hub, context: {cluster: hub}}]}`
			if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("KUBECONFIG", file)
			f := flags.Source{Hub: "hub"}
			err := source.Ask(t.Context(), &f)
			got := string(f.Known)
			if err != nil {
				got = err.Error()
			}
			if exit.Of(err) != test.code || !strings.Contains(got, test.want) {
				t.Errorf("exit code %d, %s", exit.Of(err), got)
			}
		})
	}
}
