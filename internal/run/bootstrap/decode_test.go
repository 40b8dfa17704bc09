package bootstrap_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/run/bootstrap"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestWrongConfigurations reads configurations that are refused, each with the
// line and the way out.
func TestWrongConfigurations(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"nothing":            {"environment: dev\n", []string{"c.yaml:1: the configuration has no argocd (write argocd: {manifest: {path: ...}}, {chart: ...}, or {skip: true} where it runs already)"}},
		"no map":             {"- a\n", []string{"c.yaml:1: the document is a list, not a map"}},
		"unknown field":      {"argocd: {skip: true}\ntimout: 5m\n", []string{"c.yaml:2: timout is not a field of the bootstrap configuration (did you mean timeout?)"}},
		"unknown deep":       {"argocd:\n  skip: true\nroot:\n  path: [a]\n", []string{"c.yaml:4: root.path is not a field of the bootstrap configuration (did you mean paths?)"}},
		"two installations":  {"argocd:\n  manifest: {path: a}\n  skip: true\n", []string{"c.yaml:2: argocd needs one of manifest, chart and skip (choose how Argo CD is installed)"}},
		"url without digest": {"argocd:\n  manifest:\n    url: https://example.com/install.yaml\n", []string{"c.yaml:3: argocd.manifest has no digest (pin what is downloaded: digest: sha256:...)"}},
		"digest of nothing":  {"argocd:\n  manifest: {path: a, digest: 'sha256:12'}\n", []string{"c.yaml:2: argocd.manifest.digest is not a SHA-256 digest (write sha256: and the 64 digits that sha256sum prints)"}},
		"url in the clear":   {"argocd:\n  manifest: {url: 'http://example.com/a', digest: '" + digest + "'}\n", []string{"c.yaml:2: argocd.manifest is not downloaded: its address does not start with https://"}},
		"chart without name": {"argocd:\n  chart: {repoURL: 'https://example.com', version: 1.0.0, digest: '" + digest + "'}\n", []string{"c.yaml:2: argocd.chart has no name"}},
		"tool":               {"argocd: {skip: true}\ncluster:\n  create: {tool: minikube, name: a}\n", []string{`c.yaml:3: cluster.create.tool "minikube" makes no clusters (use k3d or kind)`}},
		"create and context": {"argocd: {skip: true}\ncluster:\n  context: a\n  create: {tool: kind, name: a}\n", []string{"c.yaml:4: cluster.create names the context itself: kind-a (leave context and kubeconfig out)"}},
		"password in the file": {"argocd: {skip: true}\nrepositories:\n  - name: a\n    url: https://example.com\n    password: canary-plain\n",
			[]string{"c.yaml:5: repositories[0].password is written in the configuration, where no secret belongs (write {env: NAME} or {file: PATH})"}},
		"credentials in url": {"argocd: {skip: true}\nrepositories:\n  - {name: a, url: 'https://user:canary-plain@example.com/a'}\n",
			[]string{"c.yaml:3: repositories[0].url holds credentials (take username and password out, and name them below as {env: NAME})"}},
		"env and file":       {"argocd: {skip: true}\nsecrets:\n  - name: a\n    namespace: b\n    data:\n      k: {env: A, file: b}\n", []string{"c.yaml:6: secrets[0].data.k needs either env, the name of an environment variable, or file, a path"}},
		"a shell's way":      {"argocd: {skip: true}\nsecrets:\n  - {name: a, namespace: b, data: {k: {env: $A}}}\n", []string{"c.yaml:3: secrets[0].data.k.env is not the name of an environment variable"}},
		"pull secret":        {"argocd: {skip: true}\npullSecrets:\n  - name: a\n", []string{"c.yaml:3: pullSecrets[0] has no namespaces (say where images are pulled: namespaces: [default])", "c.yaml:3: pullSecrets[0] needs either registries or config"}},
		"registry":           {"argocd: {skip: true}\npullSecrets:\n  - name: a\n    namespaces: [b]\n    registries:\n      - server: c\n", []string{"c.yaml:6: pullSecrets[0].registries[0] has no username", "c.yaml:6: pullSecrets[0].registries[0] has no password (write password: {env: NAME} or {file: PATH})"}},
		"namespace":          {"argocd: {skip: true, namespace: Argo}\n", []string{`c.yaml:1: argocd.namespace "Argo" is not the name of a namespace (use lower-case letters, digits and '-')`}},
		"name of a secret":   {"argocd: {skip: true}\nsecrets:\n  - {name: A_b, namespace: c, data: {k: {env: A}}}\n", []string{`c.yaml:3: secrets[0].name "A_b" is not the name of an object (use lower-case letters, digits, '-' and '.')`}},
		"paths and generate": {"argocd: {skip: true}\nroot:\n  generate: true\n  paths: [a]\n", []string{"c.yaml:4: root has both paths and generate (leave one of the two out)"}},
		"port":               {"argocd: {skip: true}\nportForward:\n  localPort: 70000\n", []string{"c.yaml:3: portForward.localPort 70000 is not a port"}},
		"duration":           {"argocd: {skip: true}\ntimeout: soon\n", []string{`c.yaml:2: timeout is "soon", not a duration such as 90s or 10m`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bootstrap.Parse("c.yaml", []byte(tc.text))
			var got []string
			for _, e := range repo.InputErrors(err) {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if err != nil && strings.Contains(err.Error(), "canary-plain") {
				t.Errorf("a secret shows: %v", err)
			}
		})
	}
}

func TestUnreadableConfigurations(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.yaml")
	if err := os.WriteFile(huge, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "cannot be read: no such file or directory",
		dir:                             "cannot be read: it is no file",
		huge:                            "cannot be read: it is larger than 4 MiB",
	} {
		_, err := bootstrap.Read(file)
		if len(repo.InputErrors(err)) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
}

// FuzzParse has any text either read or refused with a place.
func FuzzParse(f *testing.F) {
	seed, err := os.ReadFile(filepath.Join("testdata", "platform", "bootstrap", "dev.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte("argocd: {chart: {url: 'https://a', digest: x, values: {a: [1]}}}"))
	f.Add([]byte("pullSecrets: [{registries: [{}]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := bootstrap.Parse("c.yaml", text)
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v with error %v", c, err)
		}
		if err == nil {
			return
		}
		all := repo.InputErrors(err)
		if len(all) == 0 {
			t.Fatalf("no input error: %v", err)
		}
		for _, e := range all {
			if e.Position.File == "" {
				t.Fatalf("no place: %v", e)
			}
		}
	})
}
