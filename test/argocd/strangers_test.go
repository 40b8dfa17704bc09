package argocd_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/argocd"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

// TestStrangersAreRefused tries every socket of Argo CD as another user of the
// machine. A new one that does not refuse fails the test, whoever opened it.
func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	executable := binary(t)
	p, err := plane.Start(t.Context(), plane.Options{Executable: planetest.Binary(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	config, err := p.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	installer, err := argocd.NewInstaller(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := installer.Install(t.Context(), executable, argocd.DefaultNamespace); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(p.Dir, "argocd")
	running, err := argocd.Start(t.Context(), argocd.Options{Executable: executable, Kubeconfig: p.Kubeconfig, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Stop)
	t.Logf("ready after %s", running.ReadyAfter)

	processes := planetest.Processes(t, running.PID())
	for name, pid := range running.Processes {
		if !slices.Contains(processes, pid) {
			t.Errorf("%s was not found: the test sees too little", name)
		}
	}
	sockets := planetest.Sockets(t, processes...)
	var addresses []string
	for _, s := range sockets {
		t.Logf("%s %s: %s", s.Network, s.Address, s.Process)
		addresses = append(addresses, s.Address)
	}
	if !slices.Contains(addresses, filepath.Join(dir, "repo-server.sock")) {
		t.Error("the socket of the repo server was not found: the test sees too little")
	}
	planetest.WantRefused(t, sockets, dir)
}
