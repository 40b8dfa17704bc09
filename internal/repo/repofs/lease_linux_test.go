package repofs_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// A file server holds leases on the files of its clients. Who opens such a file
// waits until the lease is given back, and is not refused. Source: fcntl(2),
// "Leases".
func TestReadWaitsForALease(t *testing.T) {
	name := filepath.Join(t.TempDir(), "leased")
	if err := os.WriteFile(name, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, unix.SIGIO)
	defer signal.Stop(asked)
	holder, err := unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(holder) }()
	if _, err := unix.FcntlInt(uintptr(holder), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("this file system has no leases: %v", err)
	}
	given := make(chan error, 1)
	go func() {
		<-asked
		_, err := unix.FcntlInt(uintptr(holder), unix.F_SETLEASE, unix.F_UNLCK)
		given <- err
	}()
	if data, err := repofs.ReadRegular(name, 100); err != nil || string(data) != "one" {
		t.Errorf("got %q, %v", data, err)
	}
	if err := <-given; err != nil {
		t.Error(err)
	}
}
