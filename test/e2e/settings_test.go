package e2e

import (
	"strings"
	"testing"
)

const argoSettings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, labels: {app.kubernetes.io/part-of: argocd}}
data:
  resource.customizations.health.apps_Deployment: |
    if obj.metadata.annotations ~= nil and obj.metadata.annotations["held"] == "yes" then
      return {status = "Degraded", message = "held by argocd-cm"}
    end
    return {status = "Healthy"}
  resource.customizations.health.example.com_Broken: "return {"
  resource.customizations.useOpenLibs.apps_Deployment: "true"
`

// TestArgoSettings: the health scripts of an argocd-cm that a component renders
// are used, and what is wrong with them is told with component, file and line.
func TestArgoSettings(t *testing.T) {
	t.Parallel()
	const component = "environments/dev/components/settings/component.yaml"
	files := map[string]string{
		component:               "name: settings\nnamespace: app\nrolloutPhase: \"115\"\nmanifests: {path: sources/settings.yaml}\nsyncOptions: [ServerSideAply=true]\n",
		"sources/settings.yaml": argoSettings,
	}
	r, out := rehearsal(t, writeCanary(t, files), ".")
	wantHealthy(t, r, out)
	for _, want := range []string{"sources/settings.yaml:2", "resource.customizations.health.example.com_Broken", "ServerSideAply=true of component settings is not known"} {
		if !strings.Contains(out.stderr, want) {
			t.Errorf("%q is not told: %s", want, out.stderr)
		}
	}

	files["environments/dev/components/held/component.yaml"] = "name: held\nnamespace: app\nrolloutPhase: \"120\"\nmanifests: {path: sources/held.yaml}\n"
	files["sources/held.yaml"] = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: held, annotations: {held: "yes"}}
spec:
  selector: {matchLabels: {app: held}}
  template:
    metadata: {labels: {app: held}}
    spec: {containers: [{name: main, image: example.com/held:1}]}
`
	r, out = rehearsal(t, writeCanary(t, files), ".", "--least-timeout", "5s", "--on-failure", "continue")
	if c := byName(r)["held"]; out.code != 1 || c.State == "healthy" || !strings.Contains(c.Message, "held by argocd-cm") {
		t.Errorf("exit code %d, held is %s: %s", out.code, c.State, c.Message)
	}

	files[component] += "ignoreDifferences: [{kind: ConfigMap, jqPathExpressions: ['.data[']}]\n"
	files[component] = strings.Replace(files[component], "ServerSideAply", "RespectIgnoreDifferences", 1)
	refused := ladder(t, writeCanary(t, files), "rehearse", "--progress", "none")
	if refused.code != 2 || !strings.Contains(refused.stderr, component+":6") || !strings.Contains(refused.stderr, "jq expression .data[") {
		t.Errorf("exit code %d: %s", refused.code, refused.stderr)
	}
}

// TestSettingsOfTheOperator: a health script counts as well where the settings are those of
// the ArgoCD resource, which nothing here rolls out.
func TestSettingsOfTheOperator(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"apps/held.yaml": `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: held, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://git.example/team/platform.git, targetRevision: main, path: services/held}
  destination: {server: https://kubernetes.default.svc, namespace: default}
`,
		"services/held/held.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held}\n",
		"argocd/argocd.yaml": `
apiVersion: argoproj.io/v1beta1
kind: ArgoCD
metadata: {name: argocd, namespace: argocd}
spec:
  resourceHealthChecks:
    - {kind: ConfigMap, check: 'return {status = "Degraded", message = "held by the operator"}'}
`,
	}
	r, out := rehearsal(t, writeFiles(t, files), ".", "--offline", "--least-timeout", "5s", "--on-failure", "continue")
	if c := byName(r)["held"]; out.code != 1 || c.State == "healthy" || !strings.Contains(c.Message, "held by the operator") {
		t.Errorf("exit code %d, held is %s: %s\n%s", out.code, c.State, c.Message, out.stderr)
	}
}
