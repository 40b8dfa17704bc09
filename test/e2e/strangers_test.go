package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

// TestStrangersAreRefused tries every socket of a plane as another user of the
// machine. A new one that does not refuse fails the test, whoever opened it.
func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	p, _ := startPlane(t)
	sockets := planetest.Sockets(t, planetest.Processes(t, p.PID)...)
	for _, s := range sockets {
		t.Logf("%s %s", s.Network, s.Address)
	}
	known := func(network, address string) bool {
		return slices.ContainsFunc(sockets, func(s planetest.Socket) bool { return s.Network == network && s.Address == address })
	}
	if !known("tcp", strings.TrimPrefix(p.Server, "https://")) || !known("unix", filepath.Join(p.Dir, "etcd.sock")) {
		t.Error("the sockets of the API server and of etcd were not found: the test sees too little")
	}
	planetest.WantRefused(t, sockets, p.Dir)
}
