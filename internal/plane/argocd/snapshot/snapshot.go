package snapshot

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/git"
)

// Branch is the branch of the commit. HEAD points to it.
const Branch = "main"

// Options say of what a snapshot is made.
type Options struct {
	// Top is the folder whose files are taken: the top of a repository, a folder
	// in one, or one outside every repository, of which all files are taken.
	Top string
	// Dir is where the snapshot is made; it must not exist.
	Dir string
	// Add are further files, which win over those of the work tree.
	Add []File
	// Without are folders that are left out, relative to Top.
	Without []string
	// Own reports whether an address is that of the repository; nil replaces none.
	Own func(address string) bool
	// OwnWritten are addresses of the repository as its files write them, which
	// patterns of AppProjects are held against.
	OwnWritten []string
}

// File is a file of a snapshot.
type File struct {
	// Path is relative to the top, with slashes.
	Path    string
	Content []byte
}

// Snapshot is a repository that was made.
type Snapshot struct {
	// Address is its file:// address.
	Address string
	// Revision is the commit's.
	Revision string
	// LeftOut are the symbolic links that lead out of the tree, sorted.
	LeftOut []string
	// Rewritten are the files in which addresses were replaced, sorted.
	Rewritten []string
	// Top is the folder whose files were taken, without symbolic links.
	Top string

	readdress func(file string, content []byte) []byte
}

// Readdress is the content of a file as the snapshot would have it.
func (s Snapshot) Readdress(file string, content []byte) []byte { return s.readdress(file, content) }

// Address is that of a snapshot that is made in dir, an absolute path.
func Address(dir string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()
}

// Make makes a snapshot.
func Make(ctx context.Context, o Options) (Snapshot, error) {
	if err := git.Available(); err != nil {
		return Snapshot{}, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return Snapshot{}, fmt.Errorf("find the folder of the snapshot: %w", err)
	}
	b := &builder{options: o, top: o.Top}
	b.snapshot.Address = Address(dir)
	if b.top, err = filepath.EvalSymlinks(o.Top); err != nil {
		return Snapshot{}, fmt.Errorf("find the work tree: %w", err)
	}
	b.snapshot.Top, b.snapshot.readdress = b.top, func(file string, content []byte) []byte {
		again := &builder{options: o}
		again.snapshot.Address = b.snapshot.Address
		return again.readdress(file, content)
	}
	paths, err := b.list(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	if b.snapshot.Revision, err = b.load(ctx, dir, paths); err != nil {
		return Snapshot{}, fmt.Errorf("make the snapshot: %w", err)
	}
	slices.Sort(b.snapshot.LeftOut)
	slices.Sort(b.snapshot.Rewritten)
	return b.snapshot, nil
}

// builder makes one snapshot.
type builder struct {
	options  Options
	top      string // without symbolic links
	branches []string
	snapshot Snapshot
}

// list are the paths of the work tree that are taken, sorted.
func (b *builder) list(ctx context.Context) ([]string, error) {
	paths, err := files(ctx, b.top)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", b.top, err)
	}
	added := map[string]bool{}
	for _, f := range b.options.Add {
		added[path.Clean(f.Path)] = true
	}
	paths = slices.DeleteFunc(paths, func(p string) bool {
		return added[p] || slices.ContainsFunc(b.options.Without, func(dir string) bool {
			return strings.HasPrefix(p, path.Clean(dir)+"/")
		})
	})
	slices.Sort(paths)
	return slices.Compact(paths), nil // a file in a merge conflict is listed several times
}

// files are what git knows of a folder or would add; all files where it is in no
// repository.
func files(ctx context.Context, top string) (paths []string, err error) {
	view, err := git.Open(ctx, top)
	if errors.Is(err, git.ErrNoRepository) {
		return walk(top)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	return view.Files(ctx)
}

// walk lists the files below a folder that is in no repository. A broken .git may be in it, or that of a
// submodule, which no commit may hold.
func walk(top string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(top, func(p string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.EqualFold(d.Name(), ".git") && d.IsDir() && p != top:
			return filepath.SkipDir
		case d.IsDir(), strings.EqualFold(d.Name(), ".git"):
			return nil
		}
		rel, err := filepath.Rel(top, p)
		paths = append(paths, filepath.ToSlash(rel))
		return err
	})
	return paths, err
}

// load makes the repository and returns the commit.
func (b *builder) load(ctx context.Context, dir string, paths []string) (revision string, err error) {
	reader, writer := io.Pipe()
	written := make(chan error, 1)
	go func() {
		buffered := bufio.NewWriterSize(writer, 1<<16)
		err := b.write(&stream{w: buffered}, paths)
		if err == nil {
			err = buffered.Flush()
		}
		_ = writer.CloseWithError(err)
		written <- err
	}()
	revision, err = git.Make(ctx, dir, Branch, reader)
	_ = reader.Close()
	// What could not be read explains why git had too little.
	if cause := <-written; cause != nil && !errors.Is(cause, io.ErrClosedPipe) {
		return "", cause
	}
	return revision, err
}

// write writes the stream of the commit.
func (b *builder) write(s *stream, paths []string) error {
	for _, p := range paths {
		if err := b.take(s, p); err != nil {
			return err
		}
	}
	for _, f := range b.options.Add {
		s.add(entry{path: path.Clean(f.Path), mode: modeFile}, f.Content)
		b.findBranches(f.Content)
	}
	slices.Sort(b.branches)
	return s.commit(Branch, slices.Compact(b.branches))
}

// take adds a file of the work tree, or a symbolic link that stays in it.
func (b *builder) take(s *stream, p string) error {
	file := filepath.Join(b.top, filepath.FromSlash(p))
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // deleted in the work tree
	case err != nil:
		return fmt.Errorf("read the work tree: %w", err)
	case info.Mode()&os.ModeSymlink != 0:
		target, ok := b.within(file)
		if !ok {
			b.snapshot.LeftOut = append(b.snapshot.LeftOut, p)
			return nil
		}
		s.add(entry{path: p, mode: modeLink}, []byte(filepath.ToSlash(target)))
		return nil
	case !info.Mode().IsRegular():
		return nil // a submodule, a socket
	}
	// A folder on the way may be a link; what is behind it is not the tree's.
	if !direct(file) {
		b.snapshot.LeftOut = append(b.snapshot.LeftOut, p)
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the work tree: %w", err)
	}
	e := entry{path: p, mode: modeFile}
	if info.Mode()&0o111 != 0 {
		e.mode = modeProgram
	}
	s.add(e, b.readdress(p, content))
	return s.err
}

// direct reports whether no part of a path is a symbolic link.
func direct(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	return err == nil && real == file
}

// within reads a symbolic link. ok is false where it leads out of the tree, or
// nowhere.
func (b *builder) within(link string) (target string, ok bool) {
	target, err := os.Readlink(link)
	if err != nil || filepath.IsAbs(target) {
		return "", false
	}
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(b.top, real)
	return target, err == nil && filepath.IsLocal(rel)
}
