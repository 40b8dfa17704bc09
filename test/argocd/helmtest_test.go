package argocd_test

import (
	"regexp"
	"testing"
)

// TestHelmTestsRun has Argo CD run a smoke of which everything is a test of Helm's. It
// compares no hooks, so that an Application of nothing else is Synced before it was ever
// synced. The test asks a Service that does not exist.
func TestHelmTestsRun(t *testing.T) {
	t.Parallel()
	binary(t)
	p := described(t, "single", piece{name: "base", phase: "110", manifests: widgets})
	p.write("environments/dev/components/apps/web-smoke/component.yaml", `name: web-smoke
domain: apps
namespace: default
rolloutPhase: "399"
componentType: smoke
validates: [base]
chart: sources/smoke
smoke: {helmTest: true}
timeout: 1m
`)
	p.write("sources/smoke/Chart.yaml", "{apiVersion: v2, name: smoke, version: 1.0.0}\n")
	p.write("sources/smoke/templates/test.yaml", `apiVersion: v1
kind: Pod
metadata: {name: web-test, annotations: {helm.sh/hook: test}}
spec:
  restartPolicy: Never
  containers: [{name: ask, image: "registry.example.com/wget:1", command: [wget, "-qO-", "http://nosuch:80"]}]
`)
	r, out := rehearsal(t, p.dir)
	if out.code != 1 || r.Result != "failed" {
		t.Errorf("exit code %d, result %q, want 1 and failed\n%s", out.code, r.Result, out.stderr)
	}
	smoke := byName(r)["web-smoke"]
	if !regexp.MustCompile(`nosuch`).MatchString(smoke.Message) {
		t.Errorf("web-smoke is %s: %s", smoke.State, smoke.Message)
	}
}
