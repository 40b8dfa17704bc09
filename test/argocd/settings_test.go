package argocd_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestSettingsOfARepositoryReachNothing rehearses a repository that brings settings
// of Argo CD itself: each names something of the machine that a part of Argo CD
// would start, read or connect to.
func TestSettingsOfARepositoryReachNothing(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { reached.Add(1) }
	server.Start()
	defer server.Close()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := platform{t, t.TempDir()}
	hostile := strings.NewReplacer("OUTSIDE", outside, "SERVER", server.URL)
	application := func(name, wave, more string) {
		cluster := "https://kubernetes.default.svc"
		if name == "elsewhere" {
			cluster = "https://" + strings.TrimPrefix(server.URL, "http://")
		}
		p.write("applications/"+name+".yaml", `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: `+name+`, namespace: argocd, annotations: {argocd.argoproj.io/sync-wave: "`+wave+`"}}
spec:
  project: default
  source: {repoURL: "https://git.example.com/acme/platform.git", targetRevision: main, path: sources/`+name+more+`}
  destination: {server: "`+cluster+`", namespace: argocd}
  syncPolicy: {automated: {}}
`)
	}
	p.write("root.yaml", `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root, namespace: argocd}
spec:
  project: default
  source: {repoURL: "https://git.example.com/acme/platform.git", targetRevision: main, path: applications}
  destination: {server: "https://kubernetes.default.svc", namespace: argocd}
  syncPolicy: {automated: {}}
`)
	const plain = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n"
	for name, text := range map[string]string{
		// Of a version of kustomize, its program; of a health check, all libraries of Lua.
		"settings/argocd-cm.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
data:
  kustomize.path.v9: /bin/sh
  resource.customizations.useOpenLibs.ConfigMap: "true"
  resource.customizations.health.ConfigMap: |
    os.execute("touch OUTSIDE/lua")
    local hs = {status = "Healthy", message = "asked"}
    local f = io.open("OUTSIDE/secret")
    if f then hs.message = f:read("*a") end
    return hs
`,
		"versioned/kustomization.yaml": "resources: [plain.yaml]\n",
		"versioned/plain.yaml":         plain,
		"versioned/build":              "touch OUTSIDE/kustomize\n", // sh build FOLDER
		// Of a cluster, the program that knows its password.
		"cluster/secret.yaml": `apiVersion: v1
kind: Secret
metadata: {name: elsewhere, namespace: argocd, labels: {argocd.argoproj.io/secret-type: cluster}}
stringData:
  name: elsewhere
  server: https://` + strings.TrimPrefix(server.URL, "http://") + `
  config: '{"execProviderConfig":{"apiVersion":"client.authentication.k8s.io/v1","command":"/bin/sh","args":["-c","touch OUTSIDE/credentials"]}}'
`,
		"elsewhere/plain.yaml": plain,
		// Of a generator, the server that knows what to generate.
		"set/set.yaml": `apiVersion: v1
kind: Secret
metadata: {name: plugin, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
stringData: {token: t}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plugin, namespace: argocd}
data: {token: "$plugin:token", baseUrl: "SERVER"}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: asking, namespace: argocd}
spec:
  generators: [{plugin: {configMapRef: {name: plugin}}}]
  template:
    metadata: {name: "made"}
    spec:
      project: default
      source: {repoURL: "https://git.example.com/acme/platform.git", targetRevision: main, path: sources/elsewhere}
      destination: {server: "https://kubernetes.default.svc", namespace: default}
`,
	} {
		p.write("sources/"+name, hostile.Replace(text))
	}
	p.write("build", hostile.Replace("touch OUTSIDE/kustomize\n"))
	for name, more := range map[string]string{"settings": "", "cluster": "", "set": "", "elsewhere": "", "versioned": ", kustomize: {version: v9}"} {
		wave := "1"
		if name == "settings" || name == "cluster" {
			wave = "0"
		}
		application(name, wave, more)
	}
	r, out := rehearsal(t, p.dir, ".", "--offline", "--allow-unrendered", "--timeout", "3m") // nothing ends it sooner
	for _, marker := range []string{"lua", "kustomize", "credentials"} {
		if _, err := os.Stat(filepath.Join(outside, marker)); err == nil {
			t.Errorf("a program that the %s names ran", marker)
		}
	}
	if strings.Contains(out.stdout+out.stderr, "canary") {
		t.Error("a file of the machine was read")
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("a server that the settings name was reached: %d", n)
	}
	components := byName(r)
	if c := components["versioned"]; c.State != "healthy" {
		t.Errorf("versioned is %s: %s", c.State, c.Message)
	}
	// They were tried: else the test sees too little.
	for name, want := range map[string]string{"elsewhere": "permission denied", "set": "permission denied"} {
		if c := components[name]; !strings.Contains(c.Message, want) {
			t.Errorf("%s is %s, %q, want %q", name, c.State, c.Message, want)
		}
	}
}

// TestSettingsOfTheOperator: the real Argo CD has the settings that the repository writes into
// the ArgoCD resource, which nothing here rolls out.
func TestSettingsOfTheOperator(t *testing.T) {
	t.Parallel()
	p := platform{t, t.TempDir()}
	p.write("apps/held.yaml", `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: held, namespace: argocd}
spec:
  project: default
  source: {repoURL: "https://git.example.com/acme/platform.git", targetRevision: main, path: services/held}
  destination: {server: "https://kubernetes.default.svc", namespace: default}
  syncPolicy: {automated: {}}
`)
	p.write("services/held/held.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held}\n")
	p.write("argocd/argocd.yaml", `apiVersion: argoproj.io/v1beta1
kind: ArgoCD
metadata: {name: argocd, namespace: argocd}
spec:
  resourceTrackingMethod: label
  applicationInstanceLabelKey: example.com/instance
  resourceHealthChecks:
    - kind: ConfigMap
      check: |
        return {status = "Degraded", message = "marked as " .. (obj.metadata.labels["example.com/instance"] or "nobody's")}
`)
	r, out := rehearsal(t, p.dir, ".", "--offline", "--least-timeout", "5s")
	if c := byName(r)["held"]; out.code != 1 || c.State == "healthy" || !strings.Contains(c.Message, "marked as held") {
		t.Errorf("exit code %d, held is %s: %s\n%s", out.code, c.State, c.Message, out.stderr)
	}
}
