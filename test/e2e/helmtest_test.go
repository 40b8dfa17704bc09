package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestHelmTestSaysWhatItAsks: a Helm test that asks a Service which nobody makes does not end
// before its component may take; the reason names the Service.
func TestHelmTestSaysWhatItAsks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(`
-- environments/dev/components/smoke/component.yaml --
name: smoke
rolloutPhase: "299"
namespace: default
componentType: smoke
smoke: {helmTest: true}
timeout: 1m
-- environments/dev/components/smoke/Chart.yaml --
{apiVersion: v2, name: smoke, version: 1.0.0}
-- environments/dev/components/smoke/templates/test.yaml --
apiVersion: v1
kind: Pod
metadata: {name: ask, annotations: {helm.sh/hook: test}}
spec:
  restartPolicy: Never
  containers: [{name: ask, image: "busybox:1.36", command: [wget, "http://nosuch:80"]}]
`)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, out := rehearsal(t, dir, ".")
	smoke := byName(r)["smoke"]
	if smoke.State != "timed-out" || !strings.Contains(smoke.Message, "Service default/nosuch does not exist") {
		t.Errorf("%s: %s\n%s", smoke.State, smoke.Message, out.stderr)
	}
}
