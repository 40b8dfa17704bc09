package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// Target is a folder that is written to.
type Target struct {
	// Folder is absolute, with symbolic links resolved as far as it exists.
	Folder string
	// shown is the folder as people gave it.
	shown string
	// referenced is set where a descriptor names what is in the folder already.
	referenced bool
}

// temporaryFolders are the names of folders of files that are not at their place yet.
const temporaryFolders = ".ladder-import-*"

// beside is the folder for temporary ones: that which the target is in, or, so that
// nothing is written outside of a repository, the target itself where it is the top of one.
func (t *Target) beside() string {
	if tree, err := repofs.Discover(t.Folder); err == nil && tree.Repository == t.Folder {
		return t.Folder
	}
	return filepath.Dir(t.Folder)
}

// NewTarget checks a folder that is to be written to: it and what is on the way to
// it are no symbolic links, and it is not a file.
func NewTarget(folder string) (*Target, error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", folder, err)
	}
	info, err := os.Lstat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("find %s: %w", folder, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, &repofs.InputError{Message: folder + " is a symbolic link", Hint: "name the folder itself"}
	case !info.IsDir():
		return nil, &repofs.InputError{Message: folder + " is no folder", Hint: "name a folder to write to"}
	}
	// What is above may be a link (a temporary folder often is); it is resolved.
	resolved, err := resolveExisting(abs)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", folder, err)
	}
	return &Target{Folder: resolved, shown: folder}, nil
}

// resolveExisting resolves the symbolic links of the part of a path that exists.
func resolveExisting(abs string) (string, error) {
	resolved, err := filepath.EvalSymlinks(abs)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(abs) == abs {
		return resolved, err
	}
	parent, err := resolveExisting(filepath.Dir(abs))
	return filepath.Join(parent, filepath.Base(abs)), err
}

// Conflicts are the files that exist with another content, sorted.
func (t *Target) Conflicts(all []File) ([]string, error) {
	return t.there(all, func(now []byte, f File) bool { return !bytes.Equal(now, f.Content) })
}

// Existing are the files that exist, sorted.
func (t *Target) Existing(all []File) ([]string, error) {
	return t.there(all, func([]byte, File) bool { return true })
}

func (t *Target) there(all []File, counts func(now []byte, f File) bool) ([]string, error) {
	var out []string
	for _, f := range all {
		abs, err := t.resolve(f.Path)
		if err != nil {
			return nil, err
		}
		now, err := os.ReadFile(abs)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", f.Path, err)
		case counts(now, f):
			out = append(out, f.Path)
		}
	}
	slices.Sort(out)
	return out, nil
}

// resolve finds the place of a file, which must not be reached through a symbolic
// link and must not leave the folder.
func (t *Target) resolve(file string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return "", &repofs.InputError{Position: finding.Position{File: file}, Message: "the path leaves the folder that is written to"}
	}
	abs := filepath.Join(t.Folder, filepath.FromSlash(file))
	at := t.Folder
	parts := strings.Split(filepath.FromSlash(file), string(filepath.Separator))
	for i, part := range parts {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return abs, nil
		case err != nil:
			return "", fmt.Errorf("look at %s: %w", file, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return "", &repofs.InputError{Position: finding.Position{File: file}, Message: "is, or is reached through, a symbolic link", Hint: "nothing is written through links; remove it or write elsewhere"}
		case i == len(parts)-1 && !info.Mode().IsRegular():
			return "", &repofs.InputError{Position: finding.Position{File: file}, Message: "exists and is no file"}
		case i < len(parts)-1 && !info.IsDir():
			return "", &repofs.InputError{Position: finding.Position{File: file}, Message: "a file is where a folder should be"}
		}
	}
	return abs, nil
}

// Write writes files, all of them or none. Files that exist with another content
// are refused, unless force is set. It returns how many were written; files that
// already have their content are left alone.
func (t *Target) Write(all []File, force bool) (int, error) {
	conflicts, err := t.Conflicts(all)
	if err != nil {
		return 0, err
	}
	if len(conflicts) > 0 && !force {
		return 0, &repofs.InputError{
			Message: fmt.Sprintf("%s holds %d files with another content, such as %s", t.shown, len(conflicts), conflicts[0]),
			Hint:    "write to another folder, or replace them with --force",
		}
	}
	w := &writing{target: t}
	defer w.clean()
	if err := w.stage(all); err != nil {
		return 0, err
	}
	if err := w.commit(); err != nil {
		return 0, errors.Join(err, w.undo())
	}
	return len(w.moves), nil
}

// writing is one run of Write.
type writing struct {
	target *Target
	// temporary holds the new files and what they replace, beside the folder.
	temporary string
	moves     []move
	// made are the folders that were made, from the top.
	made []string
}

// move puts one new file into its place; backup is what was there.
type move struct {
	fresh, to, backup string
	done              bool
}

// stage writes the new files beside the folder, on the same file system.
func (w *writing) stage(all []File) error {
	parent := w.target.beside()
	for {
		if info, err := os.Stat(parent); err == nil && info.IsDir() {
			break
		}
		if filepath.Dir(parent) == parent {
			return fmt.Errorf("write to %s: there is no folder above it", w.target.shown)
		}
		parent = filepath.Dir(parent)
	}
	var err error
	if w.temporary, err = os.MkdirTemp(parent, temporaryFolders); err != nil {
		return fmt.Errorf("write to %s: %w", w.target.shown, err)
	}
	for i, f := range all {
		to, err := w.target.resolve(f.Path)
		if err != nil {
			return err
		}
		if now, err := os.ReadFile(to); err == nil && bytes.Equal(now, f.Content) {
			continue
		}
		m := move{fresh: filepath.Join(w.temporary, fmt.Sprintf("%d.new", i)), to: to}
		if _, err := os.Lstat(to); err == nil {
			m.backup = filepath.Join(w.temporary, fmt.Sprintf("%d.old", i))
		}
		if err := os.WriteFile(m.fresh, f.Content, 0o644); err != nil { //nolint:gosec // descriptors are for everybody to read
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
		w.moves = append(w.moves, m)
	}
	return nil
}

// commit moves everything into its place.
func (w *writing) commit() error {
	for i := range w.moves {
		m := &w.moves[i]
		if err := w.folder(filepath.Dir(m.to)); err != nil {
			return err
		}
		if m.backup != "" {
			// A copy, so that the place is never empty.
			if err := os.Link(m.to, m.backup); err != nil {
				return fmt.Errorf("keep %s: %w", w.show(m.to), err)
			}
		}
		if err := os.Rename(m.fresh, m.to); err != nil {
			return fmt.Errorf("write %s: %w", w.show(m.to), err)
		}
		m.done = true
	}
	return nil
}

func (w *writing) show(abs string) string {
	if rel, err := filepath.Rel(w.target.Folder, abs); err == nil {
		return filepath.ToSlash(rel)
	}
	return abs
}

// folder makes a folder and remembers what it made.
func (w *writing) folder(dir string) error {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		return nil
	}
	if filepath.Dir(dir) != dir {
		if err := w.folder(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // a folder of a repository
		return fmt.Errorf("make the folder %s: %w", w.show(dir), err)
	}
	w.made = append(w.made, dir)
	return nil
}

// undo puts everything back as it was.
func (w *writing) undo() error {
	var problems []error
	for _, m := range slices.Backward(w.moves) {
		switch {
		case !m.done:
		case m.backup != "":
			problems = append(problems, os.Rename(m.backup, m.to))
		default:
			problems = append(problems, os.Remove(m.to))
		}
	}
	for _, dir := range slices.Backward(w.made) {
		problems = append(problems, os.Remove(dir))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("put the files back: %w", err)
	}
	return nil
}

func (w *writing) clean() {
	if w.temporary != "" {
		_ = os.RemoveAll(w.temporary) // what is left there is of no use to anybody
	}
}
