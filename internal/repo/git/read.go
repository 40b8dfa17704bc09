package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Errors of reading.
var (
	// ErrUnknown says that the repository has no such revision.
	ErrUnknown = errors.New("there is no such revision")
	// ErrAmbiguous says that an abbreviation is that of several objects.
	ErrAmbiguous = errors.New("several objects have that name")
	// ErrLacking says that the repository lacks objects, as a partial clone does.
	ErrLacking = errors.New("the repository lacks objects of it; a partial clone is completed by git fetch --refetch --no-filter")
	// ErrTooLarge says that a commit has more files, or larger ones, than are read.
	ErrTooLarge = fmt.Errorf("it has more than %d files or %d GiB", maxFiles, maxBytes>>30)
)

// A few small objects can describe a tree without end, so there is one.
const (
	maxFiles = 500_000
	maxBytes = 4 << 30
)

// Commit is the full hash of the commit that a name stands for.
func (v *View) Commit(ctx context.Context, name string) (string, error) {
	if name == "" || strings.HasPrefix(name, "-") {
		return "", ErrUnknown
	}
	hash, err := v.folder.output(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	switch {
	case err == nil:
		return strings.TrimSuffix(hash, "\n"), nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case strings.Contains(err.Error(), "ambiguous"):
		return "", fmt.Errorf("%w: %w", ErrAmbiguous, err)
	default:
		return "", ErrUnknown
	}
}

// The modes of entries. Source: git-fast-import(1), "filemodify".
const (
	Program   = "100755"
	Link      = "120000"
	Submodule = "160000"
)

// Entry is a file, a symbolic link or a submodule of a commit.
type Entry struct {
	Mode, Hash, Path string
	// Size is the number of bytes of a file or a link.
	Size int64
}

// Entries are those of a commit, folders left out, as git sorts them.
func (v *View) Entries(ctx context.Context, commit string) ([]Entry, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reader, writer := io.Pipe()
	go func() {
		writer.CloseWithError(v.folder.run(ctx, nil, writer, "ls-tree", "-r", "-l", "-z", "--full-tree", commit))
	}()
	defer func() { _ = reader.Close() }() // ends git
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, 1<<20)
	lines.Split(split)
	var entries []Entry
	left := int64(maxBytes)
	for lines.Scan() {
		// "<mode> <type> <hash> <size>\t<path>". Source: git-ls-tree(1).
		meta, path, _ := strings.Cut(lines.Text(), "\t")
		fields := strings.Fields(meta)
		if len(fields) != 4 {
			return nil, fmt.Errorf("git ls-tree: unknown entry %q", meta)
		}
		e := Entry{Mode: fields[0], Hash: fields[2], Path: path}
		if e.Mode != Submodule {
			size, err := strconv.ParseInt(fields[3], 10, 64)
			if err != nil {
				return nil, ErrLacking // git writes BAD
			}
			e.Size = size
		}
		if left -= e.Size; left < 0 || len(entries) == maxFiles {
			return nil, ErrTooLarge
		}
		entries = append(entries, e)
	}
	return entries, lines.Err()
}

// split splits at zero bytes.
func split(data []byte, end bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if end && len(data) > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}

// Contents hands out the content of files in turn, as it was committed: neither
// line ends nor filters of attributes change it.
func (v *View) Contents(ctx context.Context, entries []Entry, each func(Entry, io.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var names strings.Builder
	for _, e := range entries {
		names.WriteString(e.Hash + "\n")
	}
	reader, writer := io.Pipe()
	go func() {
		writer.CloseWithError(v.folder.run(ctx, strings.NewReader(names.String()), writer, "cat-file", "--batch"))
	}()
	defer func() { _ = reader.Close() }() // ends git
	out := bufio.NewReaderSize(reader, 1<<16)
	for _, e := range entries {
		// "<hash> blob <size>\n<content>\n". Source: git-cat-file(1).
		header, err := out.ReadString('\n')
		if err != nil {
			return err
		}
		if header != fmt.Sprintf("%s blob %d\n", e.Hash, e.Size) {
			return fmt.Errorf("%s: %w", e.Path, ErrLacking)
		}
		content := io.LimitReader(out, e.Size)
		if err := each(e, content); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
		if _, err := out.Discard(1); err != nil {
			return err
		}
	}
	return nil
}

// Submodules are the names of the submodules of a commit, by path.
func (v *View) Submodules(ctx context.Context, commit string) map[string]string {
	out, err := v.folder.output(ctx, "config", "--blob", commit+":.gitmodules", "--no-includes", "-z", "--get-regexp", `^submodule\..*\.path$`)
	if err != nil {
		return nil // there are none
	}
	names := map[string]string{}
	for pair := range strings.SplitSeq(out, "\x00") {
		key, path, ok := strings.Cut(pair, "\n")
		if ok {
			names[path] = strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		}
	}
	return names
}

// Module makes a view of the repository of a submodule, which has a name, and a
// path in the work tree, and holds a commit. It is nil where none is at hand.
func (v *View) Module(ctx context.Context, name, path, commit string) (*View, error) {
	var dirs []string
	if name != "" && filepath.IsLocal(filepath.FromSlash(name)) {
		dirs = append(dirs, filepath.Join(v.place.common, "modules", filepath.FromSlash(name)))
	}
	top := ""
	if v.Top != "" { // a submodule that keeps its own .git
		top = filepath.Join(v.Top, filepath.FromSlash(path))
		dirs = append(dirs, filepath.Join(top, ".git"))
	}
	for _, dir := range dirs {
		own, err := gitFolder(dir)
		if err != nil || own == "" {
			continue
		}
		common, err := commonFolder(own)
		if err != nil {
			return nil, err
		}
		module, err := open(ctx, place{own: own, common: common})
		if err != nil {
			return nil, err
		}
		module.Top = top
		if _, err := module.Commit(ctx, commit); err == nil {
			return module, nil
		}
		if err := errors.Join(module.Close(), ctx.Err()); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Files are the paths, relative to the folder that was opened, that are in the
// index, or in no index and not ignored. One in a merge conflict is there several
// times.
func (v *View) Files(ctx context.Context) ([]string, error) {
	if v.Top == "" {
		return nil, errors.New("the repository has no work tree")
	}
	args := []string{"--work-tree=" + v.Top, "--literal-pathspecs", "ls-files", "-z", "--full-name", "--cached", "--others", "--exclude-standard"}
	below := ""
	if v.Prefix != "" {
		below = v.Prefix + "/"
		args = append(args, "--", below)
	}
	var out bytes.Buffer
	if err := v.folder.run(ctx, nil, &out, args...); err != nil {
		return nil, err
	}
	var paths []string
	for path := range strings.SplitSeq(out.String(), "\x00") {
		if path != "" {
			paths = append(paths, strings.TrimPrefix(path, below))
		}
	}
	return paths, nil
}

// Make makes a bare repository in a folder that does not exist, and fills it with
// what a stream of git fast-import says. It returns the commit of a branch.
func Make(ctx context.Context, dir, branch string, stream io.Reader) (commit string, err error) {
	if err := Available(); err != nil {
		return "", err
	}
	home, err := os.MkdirTemp("", "ladder-git-")
	if err != nil {
		return "", fmt.Errorf("make a repository: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	f := folder{git: dir, home: home}
	if _, err := f.output(ctx, "init", "--quiet", "--bare", "--initial-branch="+branch, "--template="); err != nil {
		return "", err
	}
	if err := f.run(ctx, stream, io.Discard, "fast-import", "--quiet", "--done"); err != nil {
		return "", err
	}
	out, err := f.output(ctx, "rev-parse", "--verify", "refs/heads/"+branch)
	return strings.TrimSuffix(out, "\n"), err
}
