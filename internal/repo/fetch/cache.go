package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"
)

// store keeps what came from outside. Entries of exact versions and commits lie in
// the cache and stay; all others lie in a folder that Close removes.
//
// An entry is written whole or not at all, and its digest is verified when it is
// read: a damaged entry counts as absent.
type store struct {
	dir string // of the cache; empty keeps nothing between runs
	now func() time.Time

	mu  sync.Mutex
	run string // folder of this run; empty before it is needed
}

// Entry says where the content of the cache came from.
type Entry struct {
	Address  string    `json:"address"` // without credentials
	Name     string    `json:"name,omitempty"`
	Version  string    `json:"version,omitempty"` // version or commit
	Digest   string    `json:"digest"`            // of the content: "sha256:..."
	Fetched  time.Time `json:"fetched"`
	Skipped  []Skipped `json:"skipped,omitempty"`
	Contents string    `json:"contents"` // chart, file or checkout
}

// format is part of every key. Raise it when entries change their form.
const format = "1"

// key names an entry by what it is asked for.
func key(parts ...string) string {
	sum := sha256.Sum256([]byte(format + "\x00" + strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// folder returns where entries lie.
func (s *store) folder(kept bool) (string, error) {
	if kept && s.dir != "" {
		return s.dir, os.MkdirAll(s.dir, 0o700)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == "" {
		dir, err := os.MkdirTemp("", "ladder-fetch-")
		if err != nil {
			return "", err
		}
		s.run = dir
	}
	return s.run, nil
}

// close removes what is kept for this run.
func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == "" {
		return nil
	}
	dir := s.run
	s.run = ""
	return os.RemoveAll(dir)
}

// readFile returns the content of an entry that is one file: a line that describes
// it, and the content.
func (s *store) readFile(kept bool, k string) ([]byte, bool) {
	dir, err := s.folder(kept)
	if err != nil {
		return nil, false
	}
	data, err := os.ReadFile(filepath.Join(dir, k))
	if err != nil {
		return nil, false
	}
	head, content, _ := bytes.Cut(data, []byte("\n"))
	var e Entry
	if json.Unmarshal(head, &e) != nil || e.Digest != digest(content) {
		return nil, false
	}
	return content, true
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// writeFile keeps the content of an entry that is one file.
func (s *store) writeFile(kept bool, k string, e Entry, content []byte) error {
	dir, err := s.folder(kept)
	if err != nil {
		return err
	}
	e.Digest, e.Fetched = digest(content), s.now().UTC()
	head, err := json.Marshal(e)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, unfinished) // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // gone already after the rename
	_, err = temp.Write(append(append(head, '\n'), content...))
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), filepath.Join(dir, k))
}

// unfinished begins the names of what is being written.
const unfinished = ".new-"

// The parts of an entry that is a checkout.
const (
	entryName = "entry.json"
	treeName  = "tree"
)

// readTree returns the folder of an entry that is a checkout.
func (s *store) readTree(kept bool, k string) (string, Entry, bool) {
	dir, err := s.folder(kept)
	if err != nil {
		return "", Entry{}, false
	}
	head, err := os.ReadFile(filepath.Join(dir, k, entryName))
	var e Entry
	if err != nil || json.Unmarshal(head, &e) != nil {
		return "", Entry{}, false
	}
	tree := filepath.Join(dir, k, treeName)
	sum, err := treeDigest(tree)
	if err != nil || sum != e.Digest {
		return "", Entry{}, false
	}
	return tree, e, true
}

// writeTree keeps a checkout, which fill writes into an empty folder.
func (s *store) writeTree(kept bool, k string, e Entry, fill func(dir string, e *Entry) error) (string, Entry, error) {
	dir, err := s.folder(kept)
	if err != nil {
		return "", Entry{}, err
	}
	temp, err := os.MkdirTemp(dir, unfinished) // 0700
	if err != nil {
		return "", Entry{}, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	tree := filepath.Join(temp, treeName)
	if err := os.Mkdir(tree, 0o700); err != nil {
		return "", Entry{}, err
	}
	if err := fill(tree, &e); err != nil {
		return "", Entry{}, err
	}
	if e.Digest, err = treeDigest(tree); err != nil {
		return "", Entry{}, err
	}
	e.Fetched = s.now().UTC()
	head, err := json.Marshal(e)
	if err != nil {
		return "", Entry{}, err
	}
	if err := os.WriteFile(filepath.Join(temp, entryName), append(head, '\n'), 0o600); err != nil {
		return "", Entry{}, err
	}
	place := filepath.Join(dir, k)
	if err := os.Rename(temp, place); err != nil {
		// Another process was faster, or the entry there is damaged.
		if there, e, ok := s.readTree(kept, k); ok {
			return there, e, nil
		}
		if err := errors.Join(os.RemoveAll(place), os.Rename(temp, place)); err != nil {
			return "", Entry{}, err
		}
	}
	return filepath.Join(place, treeName), e, nil
}

// treeDigest returns a digest of all files, folders and links below a folder.
func treeDigest(dir string) (string, error) {
	sum := sha256.New()
	var names []string
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	}); err != nil {
		return "", err
	}
	sort.Strings(names)
	for _, name := range names {
		info, err := os.Lstat(name)
		if err != nil {
			return "", err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%q %s", filepath.ToSlash(rel), info.Mode().Type())
		switch {
		case info.Mode().IsRegular():
			fmt.Fprintf(sum, " %d\n", info.Size())
			if err := addFile(sum, name); err != nil {
				return "", err
			}
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(sum, " %q", target)
		}
		fmt.Fprintln(sum)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

func addFile(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}
