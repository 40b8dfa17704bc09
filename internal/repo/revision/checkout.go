package revision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
	"github.com/rollout-ladder/ladder/internal/repo/git"
)

// Submodule is a submodule of a commit whose files are not at hand.
type Submodule struct {
	// Path is relative to the top of the repository.
	Path, Commit string
}

// Tree is a commit as files.
type Tree struct {
	Commit Commit
	// Top is the folder of the files; Folder is the part that was asked for.
	Top, Folder string
	// Missing are the submodules that are empty folders, sorted by path.
	Missing []Submodule
}

// Checkout writes the files of a commit to a temporary folder, which Close removes,
// and finds a folder in them, relative to the top of the repository. A commit
// without that folder is an *repo.InputError.
func (r *Repository) Checkout(ctx context.Context, commit Commit, folder string) (*Tree, error) {
	if r.scratch == "" {
		made, err := os.MkdirTemp("", "ladder-revision-")
		if err != nil {
			return nil, fmt.Errorf("make a temporary folder: %w", err)
		}
		r.scratch = made
		if r.scratch, err = filepath.EvalSymlinks(made); err != nil {
			return nil, fmt.Errorf("make a temporary folder: %w", err)
		}
	}
	r.written++
	return r.checkout(ctx, commit, folder, filepath.Join(r.scratch, strconv.Itoa(r.written)))
}

// checkout writes the files to a folder, which is made.
func (r *Repository) checkout(ctx context.Context, commit Commit, folder, to string) (*Tree, error) {
	inside, ok := clean(folder)
	if !ok {
		return nil, &repo.InputError{Message: fmt.Sprintf("folder %s leaves the repository", folder)}
	}
	t := &Tree{Commit: commit, Top: filepath.Join(to, "files")}
	if err := t.fill(ctx, r.view); err != nil {
		if errors.Is(err, git.ErrLacking) || errors.Is(err, git.ErrTooLarge) {
			return nil, &repo.InputError{Message: fmt.Sprintf("revision %s cannot be read: %v", commit.Name, err), Err: err}
		}
		return nil, fmt.Errorf("check out %s: %w", commit.Name, err)
	}
	t.Folder = filepath.Join(t.Top, filepath.FromSlash(inside))
	if info, err := os.Stat(t.Folder); err != nil || !info.IsDir() {
		return nil, &repo.InputError{
			Message: fmt.Sprintf("revision %s has no folder %s", commit.Name, inside),
			Hint:    "if the folder had another name then, say which: " + commit.Name + ":FOLDER",
		}
	}
	return t, nil
}

// fill writes the files.
func (t *Tree) fill(ctx context.Context, view *git.View) (err error) {
	// What reads the platform looks for the top of its repository.
	if err := os.MkdirAll(filepath.Join(t.Top, ".git"), 0o700); err != nil {
		return err
	}
	if err := t.remember(view.Top); err != nil {
		return err
	}
	// Whatever a path or a link says, nothing is written outside of the root.
	root, err := os.OpenRoot(t.Top)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	w := &writer{tree: t, root: root}
	if err := errors.Join(w.write(ctx, view, t.Commit.Hash, ""), w.leave()); err != nil {
		return err
	}
	// Links come last, so that no file is written through one.
	for _, l := range w.links {
		if err := root.Symlink(l.target, l.path); err != nil {
			return err
		}
	}
	return nil
}

// remember writes down where the repository was cloned from, as in the work tree:
// what is fetched from the same host is fetched for the revision too.
func (t *Tree) remember(top string) error {
	if top == "" {
		return nil
	}
	here, err := checkout.Read(top)
	if err != nil || here.URL == "" || strings.ContainsAny(here.URL, "\r\n") {
		return err
	}
	config := "[remote \"origin\"]\n\turl = " + here.URL + "\n"
	return os.WriteFile(filepath.Join(t.Top, ".git", "config"), []byte(config), 0o600)
}

// writer writes the files of one commit, those of its submodules included.
type writer struct {
	tree *Tree
	root *os.Root
	// folder is the one that was made last, at is its path: entries are sorted, and
	// a root looks at every folder on the way to a file.
	folder *os.Root
	at     string
	links  []link
}

// link is a symbolic link.
type link struct{ path, target string }

// write writes a commit of a repository to a path of the tree.
func (w *writer) write(ctx context.Context, view *git.View, hash, at string) error {
	entries, err := view.Entries(ctx, hash)
	if err != nil {
		return err
	}
	var modules, files []git.Entry
	for _, e := range entries {
		if !safe(e.Path) {
			return fmt.Errorf("%q is no path of a file", e.Path)
		}
		if e.Mode == git.Submodule {
			modules = append(modules, e)
		} else {
			files = append(files, e)
		}
	}
	err = view.Contents(ctx, files, func(e git.Entry, content io.Reader) error {
		return w.file(filepath.FromSlash(path.Join(at, e.Path)), e, content)
	})
	if err != nil || len(modules) == 0 {
		return err
	}
	names := view.Submodules(ctx, hash)
	for _, m := range modules {
		if err := w.submodule(ctx, view, names[m.Path], at, m); err != nil {
			return err
		}
	}
	return nil
}

// safe reports whether a path stays in its tree and is not in a .git folder. git
// writes no other paths.
func safe(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return false
		}
	}
	return filepath.IsLocal(filepath.FromSlash(name)) && path.Clean(name) == name
}

// file writes a file or keeps a link.
func (w *writer) file(name string, e git.Entry, content io.Reader) error {
	if err := w.enter(filepath.Dir(name)); err != nil {
		return err
	}
	if e.Mode == git.Link {
		target, err := io.ReadAll(content)
		w.links = append(w.links, link{name, string(target)})
		return err
	}
	mode := os.FileMode(0o600)
	if e.Mode == git.Program {
		mode = 0o700
	}
	file, err := w.folder.OpenFile(filepath.Base(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// enter makes and opens a folder.
func (w *writer) enter(folder string) error {
	if w.folder != nil && folder == w.at {
		return nil
	}
	if err := w.root.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	next, err := w.root.OpenRoot(folder)
	if err != nil {
		return err
	}
	err = w.leave()
	w.folder, w.at = next, folder
	return err
}

// leave closes the folder that is open.
func (w *writer) leave() error {
	if w.folder == nil {
		return nil
	}
	return w.folder.Close()
}

// submodule writes a submodule whose commit is at hand.
func (w *writer) submodule(ctx context.Context, view *git.View, name, at string, m git.Entry) (err error) {
	full := path.Join(at, m.Path)
	if err := w.root.MkdirAll(filepath.FromSlash(full), 0o700); err != nil {
		return err
	}
	module, err := view.Module(ctx, name, m.Path, m.Hash)
	if err != nil {
		return err
	}
	if module == nil {
		w.tree.Missing = append(w.tree.Missing, Submodule{Path: full, Commit: m.Hash})
		return nil
	}
	defer func() { err = errors.Join(err, module.Close()) }()
	return w.write(ctx, module, m.Hash, full)
}
