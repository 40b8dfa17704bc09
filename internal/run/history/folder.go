package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// Folder is a history in a folder of this machine.
type Folder struct{ Path string }

// DefaultFolder is the folder of the user: $XDG_STATE_HOME/ladder/history, else
// ~/.local/state/ladder/history. Source: XDG Base Directory Specification.
func DefaultFolder(getenv func(string) string) (Folder, error) {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return Folder{}, fmt.Errorf("find the history: %w", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return Folder{filepath.Join(state, "ladder", "history")}, nil
}

// Add keeps a report. fresh is false where the folder has it already.
func (f Folder) Add(r report.Rollout) (entry Entry, fresh bool, err error) {
	if entry, err = New("", r); err != nil {
		return Entry{}, false, err
	}
	entry.Where = filepath.Join(f.Path, entry.ID+".json")
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return Entry{}, false, fmt.Errorf("keep the report: %w", err)
	}
	if _, err := os.Stat(entry.Where); err == nil {
		return entry, false, nil
	}
	var text bytes.Buffer
	if err := report.JSON(&text, entry.Report); err != nil {
		return Entry{}, false, fmt.Errorf("keep the report: %w", err)
	}
	// Beside its name first: a reader never sees half a report.
	beside, err := os.CreateTemp(f.Path, ".new-*")
	if err != nil {
		return Entry{}, false, fmt.Errorf("keep the report: %w", err)
	}
	defer func() { _ = os.Remove(beside.Name()) }() // gone already after the rename
	_, err = beside.Write(text.Bytes())
	err = errors.Join(err, beside.Close())
	if err == nil {
		err = os.Rename(beside.Name(), entry.Where)
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("keep the report: %w", err)
	}
	return entry, true, nil
}

// List reads every entry. Files that are no reports are problems; a folder that is
// not there has no entries.
func (f Folder) List() ([]Entry, []Problem, error) {
	files, err := os.ReadDir(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the history: %w", err)
	}
	var entries []Entry
	var problems []Problem
	for _, file := range files {
		name := file.Name()
		if file.IsDir() || strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".json.gz") {
			continue
		}
		where := filepath.Join(f.Path, name)
		e, err := ReadFile(where)
		if err != nil {
			problems = append(problems, Problem{Where: where, Reason: err.Error()})
			continue
		}
		entries = append(entries, e)
	}
	return Merge(entries), problems, nil
}

// ReadFile reads one report.
func ReadFile(name string) (Entry, error) {
	file, err := os.Open(name)
	if err != nil {
		return Entry{}, fmt.Errorf("read the report: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxReport+1))
	if err == nil && len(text) > MaxReport {
		err = fmt.Errorf("%s is larger than %d MiB", name, MaxReport>>20)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return Entry{}, fmt.Errorf("read the report: %w", err)
	}
	return Parse(name, text)
}
