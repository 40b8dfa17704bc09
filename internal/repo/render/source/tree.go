package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// MaxFile is the greatest file that is read, in bytes: as much as a source may render to.
const MaxFile = 32 << 20

// maxKept is how much of the content of files is kept for who reads them again, in bytes.
const maxKept = 128 << 20

// Tree is a repository. All components see the same content of a file: it is kept, or,
// of what is over maxKept, its digest is, and a file that has changed cannot be read
// again. A later change of the files needs a new Tree. It is safe for concurrent use.
type Tree struct {
	root       string // of the platform, links resolved
	repository string // links resolved

	mu    sync.Mutex
	files map[string]*file // by absolute path, links resolved
	kept  atomic.Int64     // bytes of their content
	limit int64            // on kept

	folders sync.Map // absolute path -> links resolved; those that are there
}

type file struct {
	once   sync.Once
	data   []byte // where it is kept
	kept   bool
	digest string
	err    error
}

// NewTree opens the repository of a platform. root is the folder that paths
// are relative to; repository is the folder that no path may leave.
func NewTree(root, repository string) (*Tree, error) {
	resolvedRoot, err := resolve(root)
	if err != nil {
		return nil, fmt.Errorf("open platform: %w", err)
	}
	resolvedRepository, err := resolve(repository)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	if !within(resolvedRepository, resolvedRoot) {
		return nil, fmt.Errorf("open platform: %s is not in the repository %s", root, repository)
	}
	return &Tree{root: resolvedRoot, repository: resolvedRepository, files: map[string]*file{}, limit: maxKept}, nil
}

func resolve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

func within(dir, name string) bool {
	rest, below := strings.CutPrefix(name, strings.TrimSuffix(dir, string(filepath.Separator)))
	return below && (rest == "" || rest[0] == filepath.Separator) || name == dir
}

// Abs resolves a slash path relative to the root of the platform, links
// included. A path out of the repository is an *EscapeError, whether or not it
// exists; a missing one is fs.ErrNotExist.
func (t *Tree) Abs(name string) (string, error) {
	joined := filepath.Join(t.root, filepath.FromSlash(name))
	if path.IsAbs(name) {
		joined = filepath.Clean(filepath.FromSlash(name))
	}
	return t.resolveAbs(joined, name)
}

func (t *Tree) resolveAbs(joined, shown string) (string, error) {
	if !within(t.repository, joined) {
		return "", &EscapeError{Path: shown}
	}
	resolved, err := t.follow(joined)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", &fs.PathError{Op: "open", Path: shown, Err: fs.ErrNotExist}
		}
		return "", &fs.PathError{Op: "open", Path: shown, Err: repofs.Reason(err)}
	}
	if !within(t.repository, resolved) {
		return "", &EscapeError{Path: shown}
	}
	return resolved, nil
}

// follow resolves links, those of a folder once for all that is in it.
func (t *Tree) follow(joined string) (string, error) {
	dir, name := filepath.Split(joined)
	known, ok := t.folders.Load(dir)
	if !ok {
		folder, err := filepath.EvalSymlinks(filepath.Clean(dir))
		if err != nil {
			return "", err
		}
		known, _ = t.folders.LoadOrStore(dir, folder)
	}
	resolved := filepath.Join(known.(string), name)
	info, err := os.Lstat(resolved)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return resolved, err
	}
	return filepath.EvalSymlinks(resolved)
}

// Rel turns an absolute path into a slash path relative to the root of the
// platform; it may begin with "../" inside the repository.
func (t *Tree) Rel(abs string) string {
	rel, err := filepath.Rel(t.root, abs)
	if err != nil {
		return filepath.ToSlash(abs)
	}
	return filepath.ToSlash(rel)
}

// read returns the content and digest of a file by its resolved path.
func (t *Tree) read(abs string) ([]byte, string, error) {
	t.mu.Lock()
	f, ok := t.files[abs]
	if !ok {
		f = &file{}
		t.files[abs] = f
	}
	t.mu.Unlock()
	var fresh []byte
	f.once.Do(func() {
		fresh, f.digest, f.err = readFile(abs, t.Rel(abs))
		n := int64(len(fresh))
		if f.kept = t.kept.Add(n) <= t.limit; f.kept {
			f.data = fresh
		} else {
			t.kept.Add(-n)
		}
	})
	switch {
	case f.kept || f.err != nil:
		return f.data, f.digest, f.err
	case fresh != nil:
		return fresh, f.digest, nil
	}
	again, digest, err := readFile(abs, t.Rel(abs))
	if err == nil && digest != f.digest {
		err = &fs.PathError{Op: "read", Path: t.Rel(abs), Err: errors.New("it has changed since it was read before")}
	}
	return again, digest, err
}

func readFile(abs, shown string) ([]byte, string, error) {
	data, err := repofs.ReadRegular(abs, MaxFile)
	var large *repofs.TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, "", &SizeError{Path: shown, Limit: MaxFile}
	case err != nil:
		return nil, "", &fs.PathError{Op: "read", Path: shown, Err: repofs.Reason(err)}
	}
	return data, digest(data), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// list returns the names in a folder, sorted, folders with a trailing slash
// (links to folders too).
func list(abs, shown string) ([]string, error) {
	entries, err := os.ReadDir(abs)
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: shown, Err: repofs.Reason(err)}
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(abs, name))
			isDir = err == nil && info.IsDir()
		}
		if isDir {
			name += "/"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// Repository returns the absolute folder of the repository.
func (t *Tree) Repository() string { return t.repository }

// Join returns the absolute path of a name without asking whether it exists. A
// name out of the repository is an *EscapeError.
func (t *Tree) Join(name string) (string, error) {
	joined := filepath.Join(t.root, filepath.FromSlash(name))
	if !within(t.repository, joined) {
		return "", &EscapeError{Path: name}
	}
	return joined, nil
}
