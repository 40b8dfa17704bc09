package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
	// Files is the number of files.
	Files int
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

// MissingGitError says that there is no command git.
type MissingGitError struct{ Err error }

// Error implements error.
func (e *MissingGitError) Error() string {
	return "the command git is needed to make a repository that Argo CD can read, and it is not on PATH: install git"
}

// Unwrap returns the cause.
func (e *MissingGitError) Unwrap() error { return e.Err }

// Make makes a snapshot.
func Make(ctx context.Context, o Options) (Snapshot, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return Snapshot{}, &MissingGitError{Err: err}
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
	if _, err := git(ctx, "", nil, "init", "--quiet", "--bare", "--initial-branch="+Branch, "--template=", dir); err != nil {
		return Snapshot{}, fmt.Errorf("make the snapshot: %w", err)
	}
	if err := b.load(ctx, dir, paths); err != nil {
		return Snapshot{}, fmt.Errorf("fill the snapshot: %w", err)
	}
	revision, err := git(ctx, dir, nil, "rev-parse", Branch)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read the snapshot: %w", err)
	}
	b.snapshot.Revision = strings.TrimSpace(string(revision))
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
	var paths []string
	out, err := git(ctx, b.top, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	var failed *exec.ExitError
	switch {
	case err == nil:
		paths = strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	case errors.As(err, &failed) && !inRepository(b.top):
		if paths, err = walk(b.top); err != nil {
			return nil, fmt.Errorf("list the files of %s: %w", b.top, err)
		}
	default:
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

// inRepository reports whether a folder is in a Git repository.
func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// walk lists the files below a folder that is in no repository.
func walk(top string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(top, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(top, p)
		paths = append(paths, filepath.ToSlash(rel))
		return err
	})
	return paths, err
}

// load writes the commit with git fast-import.
func (b *builder) load(ctx context.Context, dir string, paths []string) error {
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
	_, err := git(ctx, dir, reader, "fast-import", "--quiet", "--done")
	_ = reader.Close()
	// What could not be read explains why git had too little.
	if cause := <-written; cause != nil && !errors.Is(cause, io.ErrClosedPipe) {
		return cause
	}
	return err
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
	b.snapshot.Files = len(s.entries)
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

// git runs git with nothing of the configuration of the user or the machine, and
// without the programs that a repository's configuration may name.
func git(ctx context.Context, dir string, stdin io.Reader, args ...string) ([]byte, error) {
	safe := []string{"-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}
	command := exec.CommandContext(ctx, "git", append(safe, args...)...)
	command.Dir = dir
	command.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	command.Stdin = stdin
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		if said := strings.TrimSpace(stderr.String()); said != "" {
			return nil, fmt.Errorf("git %s: %w: %s", args[0], err, said)
		}
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return stdout.Bytes(), nil
}
