package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxDepth   = 100  // of folders
	maxSkipped = 1000 // that are listed
	maxTarget  = 4096 // of a link, in bytes
	hashLength = 20   // of an id in a tree, in bytes
)

// treeEntry is one entry of a tree.
type treeEntry struct {
	mode, name string
	id         plumbing.Hash
}

// tree reads the entries of a tree: "MODE NAME", a zero byte and the id of each.
// Source: Git, gitdatamodel, "tree".
func (o *objects) tree(id plumbing.Hash) (entries []treeEntry, err error) {
	text, err := o.get(plumbing.TreeObject, id)
	if err != nil {
		return nil, err
	}
	for len(text) > 0 {
		head, rest, ok := bytes.Cut(text, []byte{0})
		mode, name, okHead := strings.Cut(string(head), " ")
		if !ok || !okHead || len(rest) < hashLength {
			return nil, errPack
		}
		if len(entries) == o.limits.Files {
			return nil, o.exceeded(fmt.Sprintf("%d files", o.limits.Files))
		}
		entries = append(entries, treeEntry{mode, name, plumbing.Hash(rest[:hashLength])})
		text = rest[hashLength:]
	}
	return entries, nil
}

// extent is how much a tree stands for. Many entries may be the same object, so a
// few objects can stand for millions of files.
type extent struct{ files, bytes, depth int64 }

// measure finds the extent of a tree, and reads each tree once.
func (o *objects) measure(ctx context.Context, id plumbing.Hash, known map[plumbing.Hash]extent, depth int64) (extent, error) {
	e, ok := known[id]
	if !ok {
		if ctx.Err() != nil {
			return e, context.Cause(ctx)
		}
		if depth > maxDepth {
			return e, o.exceeded(tooDeep)
		}
		entries, err := o.tree(id)
		if err != nil {
			return e, err
		}
		for _, entry := range entries {
			e.files++
			if !isFolder(entry.mode) {
				e.bytes += o.byID[entry.id].len
				continue
			}
			below, err := o.measure(ctx, entry.id, known, depth+1)
			if err != nil {
				return e, err
			}
			e.files, e.bytes, e.depth = e.files+below.files, e.bytes+below.bytes, max(e.depth, below.depth+1)
			if err := o.holds(e); err != nil {
				return e, err
			}
		}
		known[id] = e
	}
	if depth+e.depth > maxDepth {
		return e, o.exceeded(tooDeep)
	}
	return e, o.holds(e)
}

var tooDeep = fmt.Sprintf("%d nested folders", maxDepth)

func (o *objects) holds(e extent) error {
	switch {
	case e.files > int64(o.limits.Files):
		return o.exceeded(fmt.Sprintf("%d files", o.limits.Files))
	case e.bytes > o.limits.Checkout:
		return o.exceeded(size(o.limits.Checkout))
	}
	return nil
}

func isFolder(mode string) bool { return mode == "40000" || mode == "040000" }

// writer writes the files of a commit into a folder.
type writer struct {
	objects *objects
	links   [][2]string // name and target; written last, so that nothing is written through one
	skipped []Skipped
}

// write writes a tree into an empty folder and returns what it left out.
func (o *objects) write(ctx context.Context, tree plumbing.Hash, dir string) ([]Skipped, error) {
	if _, err := o.measure(ctx, tree, map[plumbing.Hash]extent{}, 0); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	w := &writer{objects: o}
	err = w.folder(ctx, root, tree, "")
	for _, l := range w.links {
		if err == nil {
			err = w.made(l[0], root.Symlink(filepath.FromSlash(l[1]), filepath.FromSlash(l[0])))
		}
	}
	return w.skipped, errors.Join(err, root.Close())
}

func (w *writer) skip(name, reason string) {
	if len(w.skipped) < maxSkipped {
		w.skipped = append(w.skipped, Skipped{Path: plain(name), Reason: reason})
	}
}

// made notes an entry that exists: one that differs in nothing but the case of its
// name, for some file systems.
func (w *writer) made(name string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		w.skip(name, "another entry has the same name here")
		return nil
	}
	return err
}

// folder writes the entries of a tree into a folder, at a path from the top.
func (w *writer) folder(ctx context.Context, at *os.Root, id plumbing.Hash, folder string) error {
	entries, err := w.objects.tree(id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name := path.Join(folder, e.name)
		switch reason := checkName(e.name); {
		case reason != "":
			w.skip(name, reason)
		case isFolder(e.mode):
			err = w.enter(ctx, at, e, name)
		case e.mode == "120000":
			err = w.link(name, e.id)
		case e.mode == "160000":
			w.skip(name, "submodules are not fetched")
		case e.mode == "100644" || e.mode == "100755" || e.mode == "100664":
			err = w.file(at, e, name)
		default:
			w.skip(name, "it is no file, folder or link")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) enter(ctx context.Context, at *os.Root, e treeEntry, name string) error {
	if err := at.Mkdir(e.name, 0o700); err != nil {
		return w.made(name, err)
	}
	below, err := at.OpenRoot(e.name)
	if err != nil {
		return err
	}
	return errors.Join(w.folder(ctx, below, e.id, name), below.Close())
}

func (w *writer) file(at *os.Root, e treeEntry, name string) error {
	content, err := w.objects.get(plumbing.BlobObject, e.id)
	if err != nil {
		return err
	}
	file, err := at.OpenFile(e.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return w.made(name, err)
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

func (w *writer) link(name string, id plumbing.Hash) error {
	target, err := w.objects.get(plumbing.BlobObject, id)
	if err != nil {
		return err
	}
	if !staysInside(name, string(target)) {
		w.skip(name, "it is a link that leads out of the repository")
		return nil
	}
	w.links = append(w.links, [2]string{name, string(target)})
	return nil
}

// staysInside reports whether a link leads to something inside, whatever the other
// links are. It goes up first, at most to the top, and then only down: each step
// down is a file, a folder or another such link.
func staysInside(name, target string) bool {
	if target == "" || len(target) > maxTarget || strings.ContainsAny(target, "\\\x00") || path.IsAbs(target) {
		return false
	}
	up, down := 0, false
	for part := range strings.SplitSeq(target, "/") {
		switch {
		case part == ".." && down:
			return false
		case part == "..":
			up++
		case part != "" && part != ".":
			down = true
		}
	}
	return up <= strings.Count(name, "/")
}

// checkName returns why an entry of a tree cannot be written. Names that some file
// system takes for .git are refused, as Git does.
func checkName(name string) string {
	switch bare := strings.ToLower(strings.TrimRight(name, " .")); {
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`):
		return "its name is no name of a file"
	case len(name) > 255 || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return "its name has a control character, or is too long"
	case bare == ".git" || strings.HasPrefix(bare, ".git:") || bare == "git~1":
		return "its name is that of Git's own folder"
	}
	return ""
}
