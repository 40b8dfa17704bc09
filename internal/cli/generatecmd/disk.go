package generatecmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/patch"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// The states of a file.
const (
	current = "current"
	missing = "missing" // is written
	stale   = "stale"   // is changed
	surplus = "surplus" // is removed
)

// change is one file of an environment.
type change struct {
	// path is relative to the folder of the environment.
	path          string
	state         string
	before, after []byte
}

// compare finds what is different in the folder. A file in the way that Ladder
// did not write is an error.
func (g *generated) compare() error {
	wanted := map[string][]byte{}
	for _, f := range g.result.Files {
		name, inside := strings.CutPrefix(f.Path, g.result.Folder+"/")
		if !inside || !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%s would lie outside %s", f.Path, g.shown)
		}
		wanted[name] = f.Content
	}
	err := filepath.WalkDir(g.dir, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the folder is new, or another run has just replaced it
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(g.dir, file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		after, generates := wanted[name]
		before, err := readGenerated(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		switch own := generate.Marked(before); {
		case !own && generates:
			return fmt.Errorf("%s is in the way: ladder generate did not write it; move it, or choose another folder with --out", path.Join(g.shown, name))
		case !own:
			g.foreign = append(g.foreign, name)
			return nil
		case !generates:
			g.changes = append(g.changes, change{path: name, state: surplus, before: before})
		case bytes.Equal(before, after):
			g.changes = append(g.changes, change{path: name, state: current, before: before, after: after})
		default:
			g.changes = append(g.changes, change{path: name, state: stale, before: before, after: after})
		}
		delete(wanted, name)
		return nil
	})
	if err != nil {
		return fmt.Errorf("look at %s: %w", g.shown, err)
	}
	for name, after := range wanted {
		g.changes = append(g.changes, change{path: name, state: missing, after: after})
	}
	slices.SortFunc(g.changes, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return nil
}

// maxGenerated is the greatest file that may be Ladder's, in bytes.
const maxGenerated = 16 << 20

// readGenerated reads a file that Ladder may have written: nothing of what is no file, or
// larger. A link is not followed: it may lead out of the repository.
func readGenerated(file string) ([]byte, error) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxGenerated {
		return nil, err
	}
	return repofs.ReadRegular(file, maxGenerated)
}

// isStale reports whether anything is different.
func (g *generated) isStale() bool {
	return slices.ContainsFunc(g.changes, func(c change) bool { return c.state != current })
}

// replace puts the new folder in the place of the old one.
func (g *generated) replace() (err error) {
	if !g.isStale() {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", g.shown, err)
		}
	}()
	parent := filepath.Dir(g.dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	turn, err := takeTurn(parent)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.Close()) }()
	// Another run may have written meanwhile.
	g.changes, g.foreign = nil, nil
	if err := g.compare(); err != nil || !g.isStale() {
		return err
	}
	g.sweep(parent)
	next, err := os.MkdirTemp(parent, g.temporary()+"*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(next)) }()
	if err := os.Chmod(next, 0o755); err != nil {
		return err
	}
	for _, c := range g.changes {
		if c.state != surplus {
			if err := write(filepath.Join(next, filepath.FromSlash(c.path)), c.after); err != nil {
				return err
			}
		}
	}
	for _, name := range g.foreign {
		if err := keep(filepath.Join(g.dir, filepath.FromSlash(name)), filepath.Join(next, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(g.dir); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(next, g.dir)
	}
	return exchange(next, g.dir) // next is the old folder now, and removed
}

// takeTurn waits until no other run replaces a folder in this one: what such a run has not
// finished would be swept away. The turn ends when the folder is closed, or with the process.
func takeTurn(parent string) (*os.File, error) {
	dir, err := os.Open(parent)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", parent, err), dir.Close())
	}
	return dir, nil
}

// temporary begins the names of folders that are not finished.
func (g *generated) temporary() string { return "." + filepath.Base(g.dir) + "-ladder-generate-" }

// sweep removes what runs that were killed left behind.
func (g *generated) sweep(parent string) {
	left, err := filepath.Glob(filepath.Join(parent, g.temporary()+"*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		_ = os.RemoveAll(dir) // the next run tries again
	}
}

// write writes a file and has it on the disk before it is put in place.
func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// keep takes over a file that is not Ladder's, as it is.
func keep(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	return os.Link(from, to)
}

// diff is what changes in a file that stays. What a person may have filled into a
// Secret is not shown.
func (g *generated) diff(c change, folder string) string {
	if c.state != stale || strings.Contains(string(c.before), "kind: Secret") {
		return ""
	}
	file := strings.TrimPrefix(path.Join(folder, c.path), "/") // an absolute path is relative to the root, as git writes it
	return finding.Redact(patch.Change{File: file, Before: c.before, After: c.after}.Diff())
}
