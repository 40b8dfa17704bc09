package repofs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// MaxFileSize is the greatest size of a file that is read as a whole, in bytes.
const MaxFileSize = 4 << 20

// gitFolder is left out of searches.
const gitFolder = ".git"

// maxEntries bounds how many files and folders one search visits, so that a
// maze of symbolic links ends.
const maxEntries = 1_000_000

// Tree is the part of the file system that may be read: one repository, seen
// from the root of a platform in it. It remembers what it has seen, so that one run
// sees one state of the files and reads them once; a later change of them needs a
// new Tree. It is safe for concurrent use.
type Tree struct {
	// Root is the folder of the platform and Repository the top of its
	// repository, both absolute with symbolic links resolved.
	Root       string
	Repository string

	// resolved remembers where paths lead: thousands of descriptors share the
	// folders above them.
	resolved sync.Map // absolute path -> resolution
	folders  sync.Map // absolute path -> folder
	kept     contents
	derived  sync.Map // key of Once -> func() any
}

// Once is what read returns, which runs once for each key: several readers derive the same from the
// files of a tree. Each kind of thing has a key of a type of its own.
func (t *Tree) Once(key any, read func() any) any {
	made, _ := t.derived.LoadOrStore(key, sync.OnceValue(read))
	return made.(func() any)()
}

// Forget forgets what Once returned for a key.
func (t *Tree) Forget(key any) { t.derived.Delete(key) }

// Made is what Once returned for a key; ok is false where nobody asked.
func (t *Tree) Made(key any) (made any, ok bool) {
	read, ok := t.derived.Load(key)
	if !ok {
		return nil, false
	}
	return read.(func() any)(), true
}

// resolution is where a path leads.
type resolution struct {
	path   string
	exists bool
	err    error
}

// Discover finds the platform that dir belongs to. The root is dir, or its
// nearest parent up to the top of the Git repository that holds ladder.yaml or
// environments/; without either it is dir.
func Discover(dir string) (*Tree, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", dir, err)
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &InputError{Message: fmt.Sprintf("%s does not exist", dir), Hint: "give the folder of a platform repository", Err: err}
	}
	if err != nil {
		return nil, &InputError{Message: fmt.Sprintf("%s cannot be read: %v", dir, Reason(err)), Err: err}
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return nil, &InputError{Message: fmt.Sprintf("%s cannot be read: %v", dir, Reason(err)), Err: err}
	}
	if !info.IsDir() {
		return nil, &InputError{Message: fmt.Sprintf("%s is a file", dir), Hint: "give the folder of a platform repository, not a file in it"}
	}

	top, inGit := gitTop(resolved)
	if !inGit {
		return &Tree{Root: resolved, Repository: resolved}, nil
	}
	for d := resolved; ; d = filepath.Dir(d) {
		if holdsPlatform(d) {
			return &Tree{Root: d, Repository: top}, nil
		}
		if d == top {
			return &Tree{Root: resolved, Repository: top}, nil
		}
	}
}

// gitTop finds the folder that holds .git, which is a file in work trees.
func gitTop(dir string) (string, bool) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, gitFolder)); err == nil {
			return d, true
		}
		if filepath.Dir(d) == d {
			return "", false
		}
	}
}

func holdsPlatform(dir string) bool {
	if info, err := os.Stat(filepath.Join(dir, "ladder.yaml")); err == nil && info.Mode().IsRegular() {
		return true
	}
	info, err := os.Stat(filepath.Join(dir, "environments"))
	return err == nil && info.IsDir()
}

// Resolve returns the absolute path of a file of the platform with symbolic
// links resolved. The file need not exist: then the part that does is checked.
// at is the place that mentions the path; it may be empty.
func (t *Tree) Resolve(file string, at finding.Position) (string, error) {
	if at.File == "" {
		at.File = file
	}
	if path.IsAbs(file) || filepath.IsAbs(file) {
		return "", &InputError{Position: at, Message: fmt.Sprintf("path %s is absolute", file), Hint: "paths are relative to the root of the platform"}
	}
	abs := filepath.Join(t.Root, filepath.FromSlash(file))
	if !t.inside(abs) {
		return "", &InputError{Position: at, Message: fmt.Sprintf("path %s leaves the repository", file), Hint: "only files inside the repository are read"}
	}
	switch found := t.follow(abs); {
	case found.err == nil && t.inside(found.path):
		return found.path, nil
	case found.err == nil:
		return "", &InputError{Position: at, Message: fmt.Sprintf("%s is a symbolic link that leaves the repository", t.link(file)), Hint: "only files inside the repository are read"}
	case errors.Is(found.err, fs.ErrNotExist):
		return "", &InputError{Position: at, Message: fmt.Sprintf("%s is a symbolic link to nothing", t.link(file)), Err: found.err}
	default:
		return "", &InputError{Position: at, Message: fmt.Sprintf("%s cannot be read: %v", file, Reason(found.err)), Err: found.err}
	}
}

// follow resolves the symbolic links of a path, folder by folder from the top
// of the repository. The path need not exist: a symbolic link on the way to a
// missing file must not lead outside either.
func (t *Tree) follow(abs string) resolution {
	if abs == t.Repository || !t.inside(abs) {
		return resolution{path: abs, exists: true}
	}
	if known, ok := t.resolved.Load(abs); ok {
		return known.(resolution)
	}
	found := t.follow(filepath.Dir(abs))
	if found.err == nil {
		found.path = filepath.Join(found.path, filepath.Base(abs))
		// What hangs on a folder outside is outside, there or not.
		if found.exists && t.inside(found.path) {
			found = t.lastStep(found.path)
		}
	}
	t.resolved.Store(abs, found)
	return found
}

// lastStep resolves a path whose folder is resolved.
func (t *Tree) lastStep(p string) resolution {
	if t.isPlain(p) {
		return resolution{path: p, exists: true}
	}
	info, err := os.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return resolution{path: p}
	case err != nil:
		return resolution{err: err}
	case info.Mode()&fs.ModeSymlink == 0:
		return resolution{path: p, exists: true}
	}
	target, err := filepath.EvalSymlinks(p)
	return resolution{path: target, exists: true, err: err}
}

// link names the first symbolic link on the way to a file.
func (t *Tree) link(file string) string {
	parts := strings.Split(path.Clean(file), "/")
	for i := range parts {
		p := path.Join(parts[:i+1]...)
		info, err := os.Lstat(filepath.Join(t.Root, filepath.FromSlash(p)))
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return p
		}
	}
	return file
}

func (t *Tree) inside(abs string) bool {
	rest, below := strings.CutPrefix(abs, strings.TrimSuffix(t.Repository, string(filepath.Separator)))
	return below && (rest == "" || rest[0] == filepath.Separator) || abs == t.Repository
}

// Rel turns an absolute path into one relative to the root of the platform.
func (t *Tree) Rel(abs string) string {
	rel, err := filepath.Rel(t.Root, abs)
	if err != nil {
		return filepath.ToSlash(abs)
	}
	return filepath.ToSlash(rel)
}

// Read returns the content of a regular file of at most MaxFileSize bytes, which
// must not be changed. A missing file is an InputError that wraps fs.ErrNotExist.
func (t *Tree) Read(file string) ([]byte, error) {
	if known, ok := t.kept.find(file); ok {
		return known, nil
	}
	at := finding.Position{File: file}
	abs, err := t.Resolve(file, at)
	if err != nil {
		return nil, err
	}
	data, err := ReadRegular(abs, MaxFileSize)
	var large *TooLargeError
	switch {
	case errors.Is(err, ErrIrregular):
		return nil, &InputError{Position: at, Message: "is not a regular file"}
	case errors.As(err, &large):
		return nil, &InputError{Position: at, Message: "is " + large.Error(), Hint: "split the file"}
	case err != nil:
		return nil, &InputError{Position: at, Message: fmt.Sprintf("cannot be read: %v", Reason(err)), Err: err}
	}
	return t.kept.keep(file, data), nil
}

// IsFile reports whether a regular file of the repository is there.
func (t *Tree) IsFile(file string) bool {
	info, err := t.stat(file)
	return err == nil && info.Mode().IsRegular()
}

// IsDir reports whether a folder of the repository is there.
func (t *Tree) IsDir(dir string) bool {
	info, err := t.stat(dir)
	return err == nil && info.IsDir()
}

func (t *Tree) stat(file string) (fs.FileInfo, error) {
	abs, err := t.Resolve(file, finding.Position{})
	if err != nil {
		return nil, err
	}
	return os.Stat(abs)
}

// List returns the names in a folder, sorted; none for a folder that is not
// there.
func (t *Tree) List(dir string) ([]string, error) {
	abs, err := t.Resolve(dir, finding.Position{})
	if err != nil {
		return nil, err
	}
	entries, err := t.entries(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &InputError{Position: finding.Position{File: dir}, Message: fmt.Sprintf("cannot be read: %v", Reason(err)), Err: err}
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.name
	}
	return names, nil
}

// Find returns every file at or below dir whose name matches, sorted. Symbolic
// links are followed inside the repository; a link that leaves it is an error
// when a folder or a matching file hangs on it. Folders named .git are left
// out.
func (t *Tree) Find(ctx context.Context, dir string, match func(name string) bool) ([]string, error) {
	return t.FindNear(ctx, dir, math.MaxInt, match)
}

// FindNear is Find in dir and the folders that are at most depth folders below it.
func (t *Tree) FindNear(ctx context.Context, dir string, depth int, match func(name string) bool) ([]string, error) {
	abs, err := t.Resolve(dir, finding.Position{})
	if err != nil {
		return nil, err
	}
	s := search{tree: t, match: match, depth: depth}
	if err := s.visit(ctx, path.Clean(dir), abs, nil); err != nil {
		return nil, err
	}
	slices.Sort(s.found)
	return s.found, errors.Join(s.problems...)
}

type search struct {
	tree     *Tree
	match    func(string) bool
	depth    int
	found    []string
	problems []error
	visited  int
}

// visit looks through one folder. trail holds the resolved folders above it,
// to leave out a link that leads back up.
func (s *search) visit(ctx context.Context, dir, abs string, trail []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(trail) > s.depth || slices.Contains(trail, abs) {
		return nil
	}
	entries, err := s.tree.entries(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &InputError{Position: finding.Position{File: dir}, Message: fmt.Sprintf("cannot be read: %v", Reason(err)), Err: err}
	}
	trail = append(slices.Clip(trail), abs)
	if len(trail) <= s.depth {
		s.tree.listAll(ctx, abs, entries)
	}
	for _, e := range entries {
		if s.visited++; s.visited > maxEntries {
			return &InputError{Position: finding.Position{File: dir}, Message: fmt.Sprintf("holds more than %d files and folders", maxEntries), Hint: "look for symbolic links that lead in circles"}
		}
		if e.mode.IsRegular() && !s.match(e.name) {
			continue // most entries: they need no path
		}
		name := path.Join(dir, e.name)
		mode, target := e.mode, filepath.Join(abs, e.name)
		if mode&fs.ModeSymlink != 0 {
			resolved, rerr := s.tree.Resolve(name, finding.Position{})
			if rerr != nil {
				if s.match(e.name) || isDirLink(target) {
					s.problems = append(s.problems, rerr)
				}
				continue
			}
			info, serr := os.Stat(resolved)
			if serr != nil {
				continue
			}
			mode, target = info.Mode(), resolved
		}
		switch {
		case mode.IsDir():
			if e.name == gitFolder {
				continue
			}
			if err := s.visit(ctx, name, target, trail); err != nil {
				return err
			}
		case mode.IsRegular() && s.match(e.name):
			s.found = append(s.found, name)
		}
	}
	return nil
}

func isDirLink(link string) bool {
	info, err := os.Stat(link)
	return err == nil && info.IsDir()
}

// Reason is the cause of a file system error without the absolute path, which
// differs from machine to machine.
func Reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
