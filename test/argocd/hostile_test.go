package argocd_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// commands is a folder as the repo server has it, with a repository below tmp.
func commands(t *testing.T, files map[string]string) (dir, repository string) {
	t.Helper()
	dir = t.TempDir()
	repository = filepath.Join(dir, "tmp", "repository")
	for _, folder := range []string{"bin", "home", "tmp/repository"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"helm", "kustomize"} {
		if err := os.Symlink(binary(t), filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		file := filepath.Join(repository, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o700); err != nil { //nolint:gosec // programs, among others
			t.Fatal(err)
		}
	}
	return dir, repository
}

// build runs kustomize as the repo server does with all options that a settings map
// may give it.
func build(t *testing.T, dir, repository string, environment ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "kustomize"), "build", repository,
		"--load-restrictor", "LoadRestrictionsNone", "--enable-helm", "--enable-alpha-plugins", "--enable-exec", "--network")
	command.Dir = repository
	command.Env = append([]string{
		"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp"),
	}, environment...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// TestNoProgramOfARepositoryRuns gives kustomize every way to start a program that it
// has, as Argo CD calls it: none of them does.
func TestNoProgramOfARepositoryRuns(t *testing.T) {
	t.Parallel()
	const evil = "#!/bin/sh\ntouch DIR/tmp/marker\n"
	const shell = "touch${IFS}DIR/tmp/marker;"
	for name, files := range map[string]map[string]string{
		"a program of a reference": {"kustomization.yaml": "resources: ['FILE://DIR/tmp/other?ref=--upload-pack=" + shell + "']\n"},
		"git::":                    {"kustomization.yaml": "resources: ['git::file://DIR/tmp/other?ref=--upload-pack=" + shell + "']\n"},
		"ext":                      {"kustomization.yaml": "resources: ['git::ext::sh -c " + shell + "']\n"},
		"an option as a host":      {"kustomization.yaml": "resources: ['ssh://-oProxyCommand=" + shell + "/x?ref=main']\n"},
		"an exec function": {
			"kustomization.yaml": "generators: [g.yaml]\n",
			"g.yaml":             "apiVersion: x/v1\nkind: G\nmetadata:\n  name: g\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./evil.sh}\n",
			"evil.sh":            evil,
		},
		"an exec function by its whole path": {
			"kustomization.yaml": "generators: [g.yaml]\n",
			"g.yaml":             "apiVersion: x/v1\nkind: G\nmetadata:\n  name: g\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: DIR/tmp/repository/evil.sh}\n",
			"evil.sh":            evil,
		},
		"a helm command of its own": {
			"kustomization.yaml": "helmGlobals: {chartHome: .}\nhelmCharts: [{name: c, releaseName: c}]\n",
			"c/Chart.yaml":       "apiVersion: v2\nname: c\nversion: 1.0.0\n",
			"helm":               evil,
		},
	} {
		for _, offline := range []string{"", "1"} {
			dir, repository := commands(t, files)
			out, err := build(t, dir, repository, "LADDER_OFFLINE="+offline)
			if _, missing := os.Stat(filepath.Join(dir, "tmp", "marker")); missing == nil {
				t.Errorf("%s, offline %q: the program of the repository ran: %v\n%s", name, offline, err, out)
			}
			if name != "a helm command of its own" && err == nil {
				t.Errorf("%s, offline %q: it was built:\n%s", name, offline, out)
			}
		}
	}
}

// TestKustomizeStaysInItsFolder reads files of the machine.
func TestKustomizeStaysInItsFolder(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, repository := commands(t, map[string]string{"kustomization.yaml": "configMapGenerator: [{name: c, files: ['" + secret + "']}]\n"})
	if out, err := build(t, dir, repository); err == nil || strings.Contains(out, "canary") {
		t.Errorf("a file of the machine was read: %v\n%s", err, out)
	}
	dir, repository = commands(t, map[string]string{
		"kustomization.yaml":    "helmGlobals: {chartHome: .}\nhelmCharts: [{name: c, releaseName: c}]\n",
		"c/Chart.yaml":          "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"c/values.yaml":         "{}\n",
		"c/templates/made.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made}\n",
	})
	if out, err := build(t, dir, repository, "LADDER_OFFLINE=1"); err != nil || !strings.Contains(out, "name: made") {
		t.Errorf("a chart of the repository is not rendered: %v\n%s", err, out)
	}
}

// TestOfflineReachesNobody serves what a kustomization names on this machine.
func TestOfflineReachesNobody(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path }))
	server.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			reached <- c.RemoteAddr().String()
		}
	}
	server.Start()
	defer server.Close()
	dir, repository := commands(t, map[string]string{"kustomization.yaml": "resources: ['" + server.URL + "/x.yaml']\n"})
	if out, err := build(t, dir, repository, "LADDER_OFFLINE=1"); err == nil {
		t.Errorf("it was built:\n%s", out)
	}
	select {
	case who := <-reached:
		t.Errorf("reached by %s", who)
	default:
	}
}
