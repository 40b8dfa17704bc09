package repofs_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

func TestReadRegular(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"empty": "", "short": "one\ntwo", "full": strings.Repeat("x", 100), "more": strings.Repeat("x", 101)} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "short", "loop": "loop"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(at("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	var config net.ListenConfig
	// The path of a socket may have no more than some hundred characters.
	t.Chdir(dir)
	socket, err := config.Listen(t.Context(), "unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()

	for name, want := range map[string]string{"empty": "", "short": "one\ntwo", "full": strings.Repeat("x", 100), "link": "one\ntwo"} {
		if got, err := repofs.ReadRegular(at(name), 100); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	var large *repofs.TooLargeError
	if _, err := repofs.ReadRegular(at("more"), 100); !errors.As(err, &large) || large.Limit != 100 {
		t.Errorf("a file over the limit: %v", err)
	}
	for _, name := range []string{"folder", "pipe", "socket", os.DevNull} {
		if !filepath.IsAbs(name) {
			name = at(name)
		}
		if _, err := repofs.ReadRegular(name, 100); !errors.Is(err, repofs.ErrIrregular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := repofs.ReadRegular(at("missing"), 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := repofs.ReadRegular(at("loop"), 100); err == nil {
		t.Error("a link to itself was read")
	}
}

// A file that says it is empty and is not stands for one that grows while it is read.
func TestReadRegularOfAFileThatGrows(t *testing.T) {
	const file = "/proc/self/status" // its size is 0
	if _, err := os.Stat(file); err != nil {
		t.Skip("only Linux has " + file)
	}
	if data, err := repofs.ReadRegular(file, 1<<20); err != nil || !strings.Contains(string(data), "VmSize") {
		t.Errorf("%.40q, %v", data, err)
	}
	if _, err := repofs.ReadRegular(file, 10); !errors.As(err, new(*repofs.TooLargeError)) {
		t.Errorf("%v, want a *TooLargeError", err)
	}
}
