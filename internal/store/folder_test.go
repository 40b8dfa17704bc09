package store_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/store"
)

func open(t *testing.T, dir string) *store.Folder {
	t.Helper()
	f, err := store.Open(dir, store.Options{Owner: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func raw(texts ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, s := range texts {
		out = append(out, json.RawMessage(s))
	}
	return out
}

func load(t *testing.T, f *store.Folder) store.Saved {
	t.Helper()
	saved, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	f := open(t, dir)
	if diff := cmp.Diff(store.Saved{}, load(t, f)); diff != "" {
		t.Errorf("an empty folder holds something: %s", diff)
	}
	if err := f.Append(raw(`1`)...); err == nil {
		t.Error("appended without a snapshot")
	}
	must(t, f.Snapshot(json.RawMessage(`{"n": 0}`)))
	must(t, f.Append(raw(`{"n": 1}`, "{\n\"n\": 2}")...))
	must(t, f.Append(raw(`3`)...))
	must(t, f.Close())

	f = open(t, dir)
	if diff := cmp.Diff(store.Saved{Snapshot: json.RawMessage(`{"n":0}`), Records: raw(`{"n":1}`, `{"n":2}`, `3`)}, load(t, f)); diff != "" {
		t.Error(diff)
	}
	must(t, f.Append(raw(`4`)...))
	must(t, f.Snapshot(json.RawMessage(`"new"`)))
	must(t, f.Append(raw(`5`)...))
	must(t, f.Close())

	f = open(t, dir)
	if diff := cmp.Diff(store.Saved{Snapshot: json.RawMessage(`"new"`), Records: raw(`5`)}, load(t, f)); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 3 {
		t.Errorf("files left: %v, want lock, snapshot and one journal", entries)
	}
}

// A crash can cut the journal anywhere: what is whole is kept, and the journal
// can be written on.
func TestTornTail(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		f := open(t, dir)
		must(t, f.Snapshot(json.RawMessage(`0`)))
		n := rapid.IntRange(1, 5).Draw(rt, "records")
		for i := range n {
			must(t, f.Append(json.RawMessage(fmt.Sprintf(`{"record":%d}`, i))))
		}
		must(t, f.Close())
		path := filepath.Join(dir, "journal-1.jsonl")
		data, err := os.ReadFile(path)
		must(t, err)
		at := rapid.IntRange(0, len(data)).Draw(rt, "cut")
		must(t, os.WriteFile(path, data[:at], 0o600))

		f = open(t, dir)
		saved := load(t, f)
		if whole := strings.Count(string(data[:at]), "\n"); len(saved.Records) != whole {
			rt.Fatalf("%d records, want %d", len(saved.Records), whole)
		}
		must(t, f.Append(json.RawMessage(`"after"`)))
		must(t, f.Close())
		f = open(t, dir)
		again := load(t, f)
		if got := string(again.Records[len(again.Records)-1]); got != `"after"` {
			rt.Fatalf("last record is %s", got)
		}
		must(t, f.Close())
	})
}

func TestDamage(t *testing.T) {
	for name, tc := range map[string]struct {
		file   string
		change func(string) string
		want   string
	}{
		"middle of the journal": {"journal-1.jsonl", func(s string) string { return strings.Replace(s, `"a"`, `"b"`, 1) }, "line 1 is damaged"},
		"snapshot":              {"snapshot.json", func(s string) string { return strings.Replace(s, `"state":0`, `"state":1`, 1) }, "checksum"},
		"version":               {"snapshot.json", func(s string) string { return strings.Replace(s, `"1"`, `"2"`, 1) }, "format version"},
		"not JSON":              {"snapshot.json", func(string) string { return "{" }, "read state"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, dir)
			must(t, f.Snapshot(json.RawMessage(`0`)))
			must(t, f.Append(raw(`"a"`, `"c"`)...))
			must(t, f.Close())
			path := filepath.Join(dir, tc.file)
			data, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, []byte(tc.change(string(data))), 0o600))
			f = open(t, dir)
			if _, err := f.Load(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestSecondRunIsRefused(t *testing.T) {
	dir := t.TempDir()
	started := time.Date(2025, 3, 1, 10, 0, 0, 0, time.UTC)
	f, err := store.Open(dir, store.Options{Owner: "ladder rollout", Now: func() time.Time { return started }})
	must(t, err)
	_, err = store.Open(dir, store.Options{})
	var locked *store.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("error = %v, want a LockedError", err)
	}
	if locked.Holder.PID != os.Getpid() || !locked.Holder.Started.Equal(started) || locked.Holder.Owner != "ladder rollout" || locked.Holder.Host == "" {
		t.Errorf("holder = %+v", locked.Holder)
	}
	for _, part := range []string{fmt.Sprint(os.Getpid()), "2025-03-01T10:00:00Z", "ladder rollout"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("message %q lacks %q", err, part)
		}
	}
	must(t, f.Close())
	open(t, dir)
}

// The lock of a process that was killed is free.
func TestLockEndsWithTheProcess(t *testing.T) {
	if dir := os.Getenv("STORE_TEST_HOLD"); dir != "" {
		_, err := store.Open(dir, store.Options{})
		must(t, err)
		fmt.Println("held")
		time.Sleep(time.Hour) // killed before; a program whose goroutines all wait for nothing ends by itself
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=TestLockEndsWithTheProcess")
	cmd.Env = append(os.Environ(), "STORE_TEST_HOLD="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the other process says %q (%v)", line, err)
	}
	var locked *store.LockedError
	if _, err := store.Open(dir, store.Options{}); !errors.As(err, &locked) || locked.Holder.PID != cmd.Process.Pid {
		t.Errorf("error = %v, want one that names process %d", err, cmd.Process.Pid)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	open(t, dir)
}

// What a run saves can be looked at while it runs, with who runs it, and afterwards.
func TestPeekTakesNoLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	look := func(holder string, want store.Saved) {
		t.Helper()
		saved, h, err := store.Peek(dir)
		must(t, err)
		if diff := cmp.Diff(want, saved); diff != "" || h.Owner != holder {
			t.Errorf("held by %q, want %q (-want +got):\n%s", h.Owner, holder, diff)
		}
	}
	look("", store.Saved{})
	f := open(t, dir)
	look("test", store.Saved{})
	must(t, f.Snapshot(json.RawMessage(`"old"`)))
	must(t, f.Append(raw(`1`)...))
	must(t, f.Snapshot(json.RawMessage(`"new"`)))
	must(t, f.Append(raw(`2`, `3`)...))
	look("test", store.Saved{Snapshot: json.RawMessage(`"new"`), Records: raw(`2`, `3`)})
	must(t, f.Append(raw(`4`)...)) // it is still held
	must(t, f.Close())
	look("", store.Saved{Snapshot: json.RawMessage(`"new"`), Records: raw(`2`, `3`, `4`)})
	open(t, dir)
}

// Who looks at a folder never keeps a run from taking it, also where a process that was killed has left its
// name in the lock.
func TestPeekRefusesNobody(t *testing.T) {
	dir := t.TempDir()
	left := []byte(`{"pid": 1, "host": "gone", "owner": "killed"}`)
	must(t, os.WriteFile(filepath.Join(dir, "lock"), left, 0o600))
	stop := make(chan struct{})
	var lookers sync.WaitGroup
	for range 8 {
		lookers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _, _ = store.Peek(dir) // what it reads matters nothing here
				}
			}
		})
	}
	for range 100 {
		f, err := store.Open(dir, store.Options{Owner: "test"})
		if err != nil {
			t.Error(err)
			break
		}
		var locked *store.LockedError
		if _, err := store.Open(dir, store.Options{}); !errors.As(err, &locked) {
			t.Errorf("error = %v of what is held, want one that says so", err)
		}
		must(t, f.Close())
		must(t, os.WriteFile(filepath.Join(dir, "lock"), left, 0o600))
	}
	close(stop)
	lookers.Wait()
}
