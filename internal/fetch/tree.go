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

// writer writes the files of a commit into a folder.
type writer struct {
	objects *objects
	root    *os.Root
	files   int
	bytes   int64
	links   map[string]string // written last, so that nothing is written through one
	order   []string
	skipped []Skipped
}

// write writes a tree into an empty folder and returns what it left out.
func (o *objects) write(ctx context.Context, tree plumbing.Hash, dir string) ([]Skipped, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	w := &writer{objects: o, root: root, links: map[string]string{}}
	err = w.tree(ctx, tree, "", 0)
	for _, name := range w.order {
		if err == nil {
			err = w.made(name, w.root.Symlink(w.links[name], filepath.FromSlash(name)))
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

func (w *writer) tree(ctx context.Context, id plumbing.Hash, folder string, depth int) error {
	if depth > maxDepth {
		return w.objects.exceeded(fmt.Sprintf("%d nested folders", maxDepth))
	}
	text, err := w.objects.get(plumbing.TreeObject, id)
	if err != nil {
		return err
	}
	for len(text) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// "MODE NAME", a zero byte, the id.
		head, rest, ok := bytes.Cut(text, []byte{0})
		mode, name, okHead := strings.Cut(string(head), " ")
		if !ok || !okHead || len(rest) < hashLength {
			return errPack
		}
		var entry plumbing.Hash
		copy(entry[:], rest)
		text = rest[hashLength:]
		if w.files++; w.files > w.objects.limits.Files {
			return w.objects.exceeded(fmt.Sprintf("%d files", w.objects.limits.Files))
		}
		if reason := checkName(name); reason != "" {
			w.skip(path.Join(folder, name), reason)
			continue
		}
		if err := w.entry(ctx, mode, path.Join(folder, name), entry, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry writes one entry of a tree. Source: Git, gitdatamodel, "tree".
func (w *writer) entry(ctx context.Context, mode, name string, id plumbing.Hash, depth int) error {
	switch mode {
	case "40000", "040000":
		if err := w.root.Mkdir(filepath.FromSlash(name), 0o700); err != nil {
			return w.made(name, err)
		}
		return w.tree(ctx, id, name, depth+1)
	case "120000":
		return w.link(name, id)
	case "160000":
		w.skip(name, "submodules are not fetched")
		return nil
	case "100644", "100755", "100664":
		return w.file(name, id)
	default:
		w.skip(name, "it is no file, folder or link")
		return nil
	}
}

func (w *writer) file(name string, id plumbing.Hash) error {
	content, err := w.blob(id)
	if err != nil {
		return err
	}
	file, err := w.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return w.made(name, err)
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// blob reads the content of a file. Many entries may have the same one, so what is
// written is counted and not what was unpacked.
func (w *writer) blob(id plumbing.Hash) ([]byte, error) {
	w.bytes += w.objects.byID[id].len
	if w.bytes > w.objects.limits.Checkout {
		return nil, w.objects.exceeded(size(w.objects.limits.Checkout))
	}
	return w.objects.get(plumbing.BlobObject, id)
}

func (w *writer) link(name string, id plumbing.Hash) error {
	content, err := w.blob(id)
	if err != nil {
		return err
	}
	target := string(content)
	if !staysInside(name, target) {
		w.skip(name, "it is a link that leads out of the repository")
		return nil
	}
	if _, ok := w.links[name]; !ok {
		w.links[name] = filepath.FromSlash(target)
		w.order = append(w.order, name)
	}
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
