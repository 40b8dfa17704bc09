package argocd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// platform is a repository that a test may break.
type platform struct {
	t   *testing.T
	dir string
}

// piece is a component of a platform that a test makes up.
type piece struct {
	name, phase string
	// more are further lines of the descriptor.
	more string
	// manifests is what it applies.
	manifests string
}

// repository makes a repository of Applications, ordered by sync waves: what is
// generated of pieces in the layout app-of-apps, without their descriptors.
func repository(t *testing.T, pieces ...piece) platform {
	t.Helper()
	p := described(t, "app-of-apps", pieces...)
	must(t, p.dir, "generate", ".", "-e", "dev", "--quiet")
	for _, gone := range []string{"environments", "ladder.yaml"} {
		if err := os.RemoveAll(filepath.Join(p.dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// described makes a platform of descriptors, to be generated in a layout.
func described(t *testing.T, layout string, pieces ...piece) platform {
	t.Helper()
	p := platform{t, t.TempDir()}
	p.write("ladder.yaml", "layout: "+layout+`
argocd: {repoURL: "https://git.example.com/acme/platform.git", targetRevision: main, project: platform}
defaults: {timeout: 10m, retry: {limit: 1, backoff: {duration: 5s, factor: 2, maxDuration: 1m}}}
`)
	for _, c := range pieces {
		p.write("environments/dev/components/apps/"+c.name+"/component.yaml", "name: "+c.name+`
domain: apps
namespace: default
rolloutPhase: "`+c.phase+`"
componentType: runtime
manifests: {path: sources/`+c.name+`}
`+c.more)
		p.write("sources/"+c.name+"/manifests.yaml", c.manifests)
	}
	return p
}

// deployment is the manifest of a Deployment; container are further fields of its
// container.
func deployment(name, container string) string {
	return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `, namespace: default}
spec:
  selector: {matchLabels: {app: ` + name + `}}
  template:
    metadata: {labels: {app: ` + name + `}}
    spec: {containers: [{name: main, image: "registry.example.com/` + name + `:1"` + container + `}]}
`
}

// edit replaces text in a file; the text must be there.
func (p platform) edit(file, old, replacement string) {
	p.t.Helper()
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.dir, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		p.t.Fatalf("%s does not hold %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), old, replacement)), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// generated is the folder of what is generated, settings the file of Argo CD's
// settings in it.
const (
	generated = "argocd/dev"
	settings  = generated + "/settings/argocd-cm.yaml"
)

// move gives an Application another wave.
func (p platform) move(component, from, to string) {
	p.t.Helper()
	p.edit(generated+"/applications/"+component+".yaml", `sync-wave: "`+from+`"`, `sync-wave: "`+to+`"`)
}

// remove takes an Application out.
func (p platform) remove(component string) {
	p.t.Helper()
	p.edit(generated+"/kustomization.yaml", "- applications/"+component+".yaml\n", "")
	if err := os.Remove(filepath.Join(p.dir, generated, "applications", component+".yaml")); err != nil {
		p.t.Fatal(err)
	}
}

// unset takes a setting of Argo CD out.
func (p platform) unset(key string) {
	p.t.Helper()
	file := filepath.Join(p.dir, settings)
	text, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	kept, found := "", false
	skipping := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "  "+key+":") {
			skipping, found = true, true
			continue
		}
		skipping = skipping && (strings.HasPrefix(line, "    ") || strings.TrimSpace(line) == "")
		if !skipping {
			kept += line
		}
	}
	if !found {
		p.t.Fatalf("%s has no %s", settings, key)
	}
	if err := os.WriteFile(file, []byte(kept), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// write writes a file.
func (p platform) write(file, text string) {
	p.t.Helper()
	file = filepath.Join(p.dir, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}
