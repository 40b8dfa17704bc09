package main

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// runs runs what an image holds as the user that it names, with nothing of this
// machine's files to be seen.
func runs(t *testing.T, img v1.Image) {
	dir := t.TempDir()
	// The user comes in from outside.
	for d := dir; strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	extract(t, img, dir)
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	command := func(env []string, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, config.Config.Entrypoint[0], append(config.Config.Entrypoint[1:], args...)...)
		cmd.Dir, cmd.Env = "/", append(config.Config.Env, env...)
		const nobody = 65532
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if os.Getuid() != 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Chroot: dir, Cloneflags: syscall.CLONE_NEWUSER,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getgid(), Size: 1}},
			}
		}
		text, err := cmd.CombinedOutput()
		return string(text), err
	}

	text, err := command(nil, "version")
	if err != nil && text == "" && os.IsPermission(err) {
		t.Skipf("no process here may change its root: %v", err)
	}
	if err != nil || !strings.HasPrefix(text, "ladder v1.2.3 (") || !strings.Contains(text, "no control plane") {
		t.Errorf("ladder version: %v\n%s", err, text)
	}
	if text, err := command(nil, "smoke", "--help"); err != nil || !strings.Contains(text, "--in-cluster") {
		t.Errorf("ladder smoke --help: %v\n%s", err, text)
	}

	// The Job of a smoke: checks in a file, the token and the authority of the
	// cluster in others, and an API server that only that authority vouches for.
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers := map[string]string{
			"/version":                           `{"major":"1","minor":"34","gitVersion":"v1.34.0"}`,
			"/api":                               `{"kind":"APIVersions","versions":["v1"]}`,
			"/apis":                              `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
			"/api/v1":                            `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","namespaced":true,"kind":"Secret","verbs":["get"]}]}`,
			"/api/v1/namespaces/shop/secrets/db": `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"shop","name":"db"},"data":{"password":"eA=="}}`,
		}
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		if r.Header.Get("Authorization") != "Bearer of-the-pod" {
			w.WriteHeader(http.StatusUnauthorized)
		} else if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer api.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	for name, content := range map[string]string{
		"/var/run/secrets/kubernetes.io/serviceaccount/token":     "of-the-pod",
		"/var/run/secrets/kubernetes.io/serviceaccount/ca.crt":    string(authority),
		"/var/run/secrets/kubernetes.io/serviceaccount/namespace": "shop",
		"/checks/checks.yaml": "formatVersion: \"1\"\ncomponent: db-smoke\nchecks:\n- {check: secret, namespace: shop, name: db, keys: [password]}\n",
		"/checks/wrong.yaml":  "formatVersion: \"1\"\ncomponent: db-smoke\nchecks:\n- {check: secret, namespace: shop, name: db, keys: [user]}\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	host, port, err := net.SplitHostPort(api.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port}
	if text, err := command(env, "smoke", "--checks", "/checks/checks.yaml", "--in-cluster"); err != nil || !strings.Contains(text, "ok   secret Secret shop/db: has password") {
		t.Errorf("a smoke that holds: %v\n%s", err, text)
	}
	if text, err := command(env, "smoke", "--checks", "/checks/wrong.yaml", "--in-cluster"); err == nil || !strings.Contains(text, "FAIL secret Secret shop/db") {
		t.Errorf("a smoke that does not hold: %v\n%s", err, text)
	}
}
