package revision

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/intake"
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

// Checkout writes the files of a commit to a folder, which is made, and finds a
// folder in them, relative to the top of the repository. A commit without that
// folder is an *intake.InputError.
func (r *Repository) Checkout(ctx context.Context, commit Commit, folder, to string) (*Tree, error) {
	inside, ok := clean(folder)
	if !ok {
		return nil, &intake.InputError{Message: fmt.Sprintf("folder %s leaves the repository", folder)}
	}
	if err := os.MkdirAll(filepath.Join(to, "files"), 0o700); err != nil {
		return nil, fmt.Errorf("check out %s: %w", commit.Name, err)
	}
	t := &Tree{Commit: commit, Top: filepath.Join(to, "files")}
	w := &writer{repository: r, index: filepath.Join(to, "index"), tree: t}
	if err := w.write(ctx, r.git, commit.Hash, ""); err != nil {
		return nil, fmt.Errorf("check out %s: %w", commit.Name, err)
	}
	// What reads the platform looks for the top of its repository.
	if err := os.Mkdir(filepath.Join(t.Top, ".git"), 0o700); err != nil {
		return nil, fmt.Errorf("check out %s: %w", commit.Name, err)
	}
	t.Folder = filepath.Join(t.Top, filepath.FromSlash(inside))
	if info, err := os.Stat(t.Folder); err != nil || !info.IsDir() {
		return nil, &intake.InputError{
			Message: fmt.Sprintf("revision %s has no folder %s", commit.Name, inside),
			Hint:    "if the folder had another name then, say which: " + commit.Name + ":FOLDER",
		}
	}
	return t, nil
}

// writer writes the files of one commit, those of its submodules included.
type writer struct {
	repository *Repository
	index      string
	tree       *Tree
	written    int
}

// write writes a commit of the repository in a git folder to a path of the tree.
func (w *writer) write(ctx context.Context, git, hash, at string) error {
	target := filepath.Join(w.tree.Top, filepath.FromSlash(at))
	w.written++
	env := slices.Concat(w.repository.env, []string{fmt.Sprintf("GIT_INDEX_FILE=%s-%d", w.index, w.written)})
	where := []string{"--git-dir=" + git, "--work-tree=" + target}
	if _, err := run(ctx, target, env, append(where, "read-tree", hash)...); err != nil {
		return err
	}
	if _, err := run(ctx, target, env, append(where, "checkout-index", "--all", "--quiet", "--force")...); err != nil {
		return err
	}
	listed, err := run(ctx, target, env, append(where, "ls-files", "--stage", "-z")...)
	if err != nil {
		return err
	}
	names := w.names(ctx, git, hash)
	for _, entry := range bytes.Split(listed, []byte{0}) {
		// "160000 <hash> 0\t<path>" is a submodule. Source: git help ls-files.
		meta, path, ok := strings.Cut(string(entry), "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) < 2 || fields[0] != "160000" {
			continue
		}
		if err := w.submodule(ctx, git, names[path], at, path, fields[1]); err != nil {
			return err
		}
	}
	return nil
}

// submodule writes a submodule whose commit is at hand.
func (w *writer) submodule(ctx context.Context, git, name, at, path, hash string) error {
	full := path
	if at != "" {
		full = at + "/" + path
	}
	places := []string{}
	if name != "" && !strings.Contains(name, "..") {
		places = append(places, filepath.Join(git, "modules", filepath.FromSlash(name)))
	}
	if w.repository.Top != "" { // a submodule that keeps its own .git
		places = append(places, filepath.Join(w.repository.Top, filepath.FromSlash(full), ".git"))
	}
	for _, place := range places {
		if info, err := os.Stat(place); err != nil || !info.IsDir() {
			continue
		}
		if _, err := run(ctx, w.tree.Top, w.repository.env, "--git-dir="+place, "cat-file", "-e", hash+"^{commit}"); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		if err := os.MkdirAll(filepath.Join(w.tree.Top, filepath.FromSlash(full)), 0o700); err != nil {
			return err
		}
		return w.write(ctx, place, hash, full)
	}
	w.tree.Missing = append(w.tree.Missing, Submodule{Path: full, Commit: hash})
	return nil
}

// names are the names of the submodules of a commit, by path.
func (w *writer) names(ctx context.Context, git, hash string) map[string]string {
	out, err := run(ctx, w.tree.Top, w.repository.env, "--git-dir="+git, "config", "--blob", hash+":.gitmodules", "-z", "--get-regexp", `^submodule\..*\.path$`)
	if err != nil {
		return nil // there are none
	}
	names := map[string]string{}
	for _, pair := range strings.Split(string(out), "\x00") {
		key, path, ok := strings.Cut(pair, "\n")
		if ok {
			names[path] = strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		}
	}
	return names
}
