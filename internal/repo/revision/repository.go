package revision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/git"
)

// Repository is a Git repository, seen from a folder in it.
type Repository struct {
	view *git.View
	// scratch is the temporary folder that revisions are written to, written their
	// number.
	scratch string
	written int
}

// Commit is a revision that was found.
type Commit struct {
	// Name is what was asked for, Hash the full hash of the commit.
	Name, Hash string
}

// ErrUnknown says that the repository has no such revision.
var ErrUnknown = git.ErrUnknown

// Open finds the repository that a folder belongs to. A folder in none is an
// *repo.InputError.
func Open(ctx context.Context, folder string) (*Repository, error) {
	info, err := os.Stat(folder)
	if err != nil || !info.IsDir() {
		return nil, &repo.InputError{
			Message: fmt.Sprintf("there is no folder %s", folder),
			Hint:    "a folder that only a revision has is named with it: REVISION:FOLDER", Err: err,
		}
	}
	view, err := git.Open(ctx, folder)
	var format *git.FormatError
	switch {
	case errors.Is(err, git.ErrNoRepository):
		return nil, &repo.InputError{Message: folder + " is in no Git repository", Err: err}
	case errors.Is(err, git.ErrElsewhere):
		return nil, &repo.InputError{Message: err.Error(), Err: err}
	case errors.As(err, &format):
		return nil, &repo.InputError{Message: format.Error(), Hint: "clone it in the format files: git clone --ref-format=files", Err: err}
	case err != nil:
		return nil, fmt.Errorf("read revisions: %w", err)
	}
	return &Repository{view: view}, nil
}

// Close lets go of the repository and removes what was written.
func (r *Repository) Close() error {
	err := r.view.Close()
	if r.scratch != "" {
		err = errors.Join(err, os.RemoveAll(r.scratch))
	}
	return err
}

// Prefix is the folder relative to the top of the repository, with slashes; empty
// for the top itself.
func (r *Repository) Prefix() string { return r.view.Prefix }

// Find resolves the name of a revision: a branch, tag, hash, HEAD~2. A name of
// none is ErrUnknown, an abbreviation of several an *repo.InputError.
func (r *Repository) Find(ctx context.Context, name string) (Commit, error) {
	hash, err := r.view.Commit(ctx, name)
	if errors.Is(err, git.ErrAmbiguous) {
		return Commit{}, &repo.InputError{Message: fmt.Sprintf("revision %q names several objects", name), Hint: "give more of the hash", Err: err}
	}
	return Commit{Name: name, Hash: hash}, err
}

// Hint is what may help where a revision is not found; empty where nothing is known.
func (r *Repository) Hint() string {
	if r.view.Shallow() {
		return "the clone is shallow: git fetch --unshallow gets the rest of the history"
	}
	return ""
}

// clean makes a slash path relative to the top of the repository; ok is false for
// one that leaves it.
func clean(folder string) (string, bool) {
	folder = filepath.ToSlash(filepath.Clean(strings.TrimPrefix(folder, "/")))
	return strings.TrimPrefix(folder, "./"), folder != ".." && !strings.HasPrefix(folder, "../")
}
