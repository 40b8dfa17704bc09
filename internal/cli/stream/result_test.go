package stream

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func mode(t *testing.T, file string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Type()
}

// What is no file is written to and stays what it is.
func TestResultIntoAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		reader, err := os.Open(pipe)
		if err != nil {
			read <- err.Error()
			return
		}
		text, _ := io.ReadAll(reader)
		read <- string(text)
	}()
	if err := (&Streams{}).WriteResult(pipe, []byte("result")); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "result" || mode(t, pipe) != os.ModeNamedPipe {
		t.Errorf("read %q of %s", got, mode(t, pipe))
	}
}

// A link stays a link.
func TestResultThroughALink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := (&Streams{}).WriteResult(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "new" || mode(t, link) != os.ModeSymlink {
		t.Errorf("%q, %v, the link is %s", got, err, mode(t, link))
	}
}
