package argocd_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/plane/argocd"
)

// program writes a shell script that stands in for the binary.
func program(t *testing.T, body string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), argocd.BinaryName)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func start(t *testing.T, body string) (*argocd.Argo, string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "argo")
	a, err := argocd.Start(t.Context(), argocd.Options{
		Executable: program(t, body), Kubeconfig: "/k", Dir: dir, Namespace: "gitops", Reconcile: time.Minute, ClientQPS: 500, ObjectHealth: true,
	})
	return a, dir, err
}

const ready = `echo 'not for us'; echo '{"ready":true,"argocd":"v3.2.11","logs":"/l","processes":{"argocd-repo-server":7}}'`

func TestStartAndStop(t *testing.T) {
	a, dir, err := start(t, `echo "$@" > "$5/args"; `+ready+`; cat > /dev/null; touch "$5/ended"`)
	if err != nil {
		t.Fatal(err)
	}
	if a.Version != "v3.2.11" || a.Logs != "/l" || a.Processes["argocd-repo-server"] != 7 {
		t.Errorf("got %+v", a)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	if err != nil {
		t.Fatal(err)
	}
	want := "run --kubeconfig /k --dir " + dir + " --wave-delay 0s --namespace gitops --reconcile 1m0s --object-health --client-qps 500\n"
	if diff := cmp.Diff(want, string(args)); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.AwaitEnd(ended); err != nil {
		t.Errorf("it runs, yet AwaitEnd says %v", err)
	}
	a.Stop()
	if _, err := os.Stat(filepath.Join(dir, "ended")); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}
	a.Stop() // stopping twice is fine
}

func TestDoesNotStart(t *testing.T) {
	cases := map[string]struct{ body, want string }{
		"says why":  {`echo '{"ready":false,"error":"argocd-repo-server ended: exit status 1"}'; exit 3`, "argocd-repo-server ended: exit status 1"},
		"says none": {"exit 3", "it was killed, or the machine had no memory left"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := start(t, tc.body)
			if !errors.As(err, new(*argocd.StartError)) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestEndsByItself(t *testing.T) {
	a, _, err := start(t, ready+`; echo '{"error":"argocd-application-controller ended"}'`)
	if err != nil {
		t.Fatal(err)
	}
	err = a.AwaitEnd(t.Context())
	var ended *argocd.EndedError
	if !errors.As(err, &ended) || ended.Reason != "argocd-application-controller ended" {
		t.Errorf("error %v", err)
	}
}

func TestStartIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	body := program(t, "echo >&2 x; cat > /dev/null")
	go cancel()
	_, err := argocd.Start(ctx, argocd.Options{Executable: body, Kubeconfig: "/k", Dir: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestFind(t *testing.T) {
	here := program(t, "")
	t.Setenv("PATH", filepath.Dir(here)+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, named := range map[string]string{"on PATH": "", "named": here} {
		got, err := argocd.Find(named)
		if err != nil || got != here {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	cases := map[string]struct{ named, want string }{
		"nowhere":   {"", "neither beside ladder nor on PATH"},
		"not there": {"/nowhere/ladder-argocd", "/nowhere/ladder-argocd cannot be run: no such file"},
		"a folder":  {filepath.Dir(here), "cannot be run"},
	}
	for name, tc := range cases {
		_, err := argocd.Find(tc.named)
		if !errors.As(err, new(*argocd.MissingError)) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "make argocd") {
			t.Errorf("%s: %v, want %q and the way out", name, err, tc.want)
		}
	}
}
