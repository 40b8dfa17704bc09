package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestOptions(t *testing.T) {
	dir := t.TempDir()
	o, err := parseOptions([]string{"--kubeconfig", dir + "/k", "--dir", dir, "--reconcile", "5s", "--client-qps", "100"})
	if err != nil {
		t.Fatal(err)
	}
	want := options{kubeconfig: dir + "/k", dir: dir, namespace: "argocd", reconcile: 5 * time.Second, logLevel: "warn", clientQPS: 100, confine: "auto"}
	if o != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
	for name, args := range map[string][]string{
		"no kubeconfig":    {"--dir", dir},
		"no folder":        {"--kubeconfig", "k"},
		"never reconciles": {"--kubeconfig", "k", "--dir", dir, "--reconcile", "0"},
		"an argument":      {"--kubeconfig", "k", "--dir", dir, "more"},
		"an unknown flag":  {"--kubeconfig", "k", "--dir", dir, "--colour"},
	} {
		if _, err := parseOptions(args); !errors.As(err, new(usageError)) {
			t.Errorf("%s: %v, want a usageError", name, err)
		}
	}
}

// Nothing of the user's own configuration reaches the parts.
func TestEnvironment(t *testing.T) {
	user := map[string]string{"PATH": "/usr/bin", "HOME": "/home/user", "GIT_DIR": "/x", "HTTPS_PROXY": "http://proxy", "AWS_SECRET_ACCESS_KEY": "canary"}
	env := environment(options{dir: "/d", kubeconfig: "/k", reconcile: 10 * time.Second, waveDelay: 2 * time.Second, logLevel: "warn"}, repoServer, func(name string) string { return user[name] })
	for _, want := range []string{"PATH=/d/bin:/usr/bin", "HOME=/d/home", "KUBECONFIG=/k", "HTTPS_PROXY=http://proxy", "ARGOCD_SYNC_WAVE_DELAY=2", "ARGOCD_LOG_LEVEL=warn"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %v", want, env)
		}
	}
	if all := strings.Join(env, "\n"); strings.Contains(all, "canary") || strings.Contains(all, "GIT_DIR") || strings.Contains(all, "/home/user") {
		t.Errorf("of the user:\n%s", all)
	}
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second run in the same folder is fine
		if err := makeFolders(dir, "/bin/true"); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may enter the folder: %v, %v", info.Mode(), err)
	}
	for _, name := range []string{helmName, kustomizeName} {
		if target, err := os.Readlink(filepath.Join(dir, binFolder, name)); err != nil || target != "/bin/true" {
			t.Errorf("%s leads to %q: %v", name, target, err)
		}
	}
}

func TestDefinitions(t *testing.T) {
	var b bytes.Buffer
	if err := printDefinitions(&b, fstest.MapFS{"crds/README.md": {Data: []byte("x")}}); !errors.Is(err, errNoDefinitions) {
		t.Errorf("without CRDs: %v", err)
	}
	files := fstest.MapFS{"crds/a.yaml": {Data: []byte("a: 1")}, "crds/b.yaml": {Data: []byte("b: 2\n")}}
	if err := printDefinitions(&b, files); err != nil || b.String() != "---\na: 1\n---\nb: 2\n\n" {
		t.Errorf("%v: %q", err, b.String())
	}
}
