package schema_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
	"github.com/rollout-ladder/ladder/internal/run/bootstrap"
)

// TestBootstrapConfigurations has the schema and the reader agree on what a
// configuration may say.
func TestBootstrapConfigurations(t *testing.T) {
	s := compile(t, "bootstrap")
	whole, err := os.ReadFile(filepath.Join(root, "internal", "run", "bootstrap", "testdata", "platform", "bootstrap", "dev.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const pinned = "digest: 'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'"
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"that of the tests":   {string(whole), true},
		"least":               {"argocd: {skip: true}\n", true},
		"empty sections":      {"argocd: {skip: true}\nroot:\nwait:\nsecrets:\n", true},
		"manifest by address": {"argocd: {manifest: {url: 'https://example.com/a', " + pinned + "}}\n", true},
		"chart by address":    {"argocd: {chart: {repoURL: 'https://example.com', name: argo-cd, version: 8.0.0, " + pinned + ", values: {a: {b: 1}}}}\n", true},
		"cluster":             {"argocd: {skip: true}\ncluster: {create: {tool: kind, name: dev, args: [--wait=1m]}}\n", true},
		"app of GitHub":       {"argocd: {skip: true}\nrepositories: [{name: a, url: 'https://github.com/a/b', githubAppID: 12, githubAppPrivateKey: {file: k}}]\n", true},
		"nothing":             {"environment: dev\n", false},
		"two ways":            {"argocd: {skip: true, manifest: {path: a}}\n", false},
		"unpinned":            {"argocd: {manifest: {url: 'https://example.com/a'}}\n", false},
		"unknown field":       {"argocd: {skip: true}\nbands: [a]\n", false},
		"inline password":     {"argocd: {skip: true}\nrepositories: [{name: a, url: b, password: c}]\n", false},
		"two values":          {"argocd: {skip: true}\nsecrets: [{name: a, namespace: b, data: {k: {env: A, file: b}}}]\n", false},
		"no namespaces":       {"argocd: {skip: true}\npullSecrets: [{name: a, config: {file: b}}]\n", false},
		"other tool":          {"argocd: {skip: true}\ncluster: {create: {tool: minikube, name: dev}}\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := yamldoc.ParseOne("c.yaml", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(instance(t, v.Any())); (err == nil) != tc.ok {
				t.Errorf("schema: %v", err)
			}
			if _, err := bootstrap.Parse("c.yaml", []byte(tc.text)); (err == nil) != tc.ok {
				t.Errorf("reader: %v", err)
			}
		})
	}
}
