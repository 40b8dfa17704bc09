package source

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// View is how a renderer sees a repository. Names are slash paths relative to the
// root of the platform. A name out of the repository is an *EscapeError, a missing
// file fs.ErrNotExist. A View is for one goroutine.
type View interface {
	// Read returns the content of a file. The caller must not change it.
	Read(name string) ([]byte, error)
	// List returns the sorted names in a folder; folders end with a slash.
	List(name string) ([]string, error)
	// Stat says what a path is.
	Stat(name string) (Kind, error)
	// Resolve returns the name of a path without links.
	Resolve(name string) (string, error)
	// MarkRemote says that something from outside the repository was used, or might
	// be used the next time.
	MarkRemote()
}

// Recording is one component's look at a Tree. It records every question that was
// asked of the file system, with its answer. It is for one goroutine.
type Recording struct {
	tree  *Tree
	trace Trace
	seen  map[Step]bool
	// remote is set when something from outside the repository was used.
	remote bool
	// beside are files that are not in the tree, by their names.
	beside     map[string][]byte
	confidence confidence
}

// Trace is what a Recording recorded: the same answers mean the same result.
type Trace []Step

// Step is one question to the file system and a digest of its answer.
type Step struct {
	Op     string `json:"op"` // "read", "list", "stat" or "resolve"
	Path   string `json:"path"`
	Answer string `json:"answer"`
}

// View starts a recording.
func (t *Tree) View() *Recording {
	return &Recording{tree: t, seen: map[Step]bool{}}
}

// Trace returns what was recorded so far. ok is false where the result must not be cached: it depends on
// something outside the repository, or may hold the value of a Secret outside of a Secret.
func (v *Recording) Trace() (trace Trace, ok bool) {
	return v.trace, !v.remote && !v.confidence.broken()
}

// MarkRemote says that something from outside the repository was used.
func (v *Recording) MarkRemote() { v.remote = true }

func (v *Recording) record(op, name, answer string) {
	step := Step{Op: op, Path: name, Answer: answer}
	if !v.seen[step] {
		v.seen[step] = true
		v.trace = append(v.trace, step)
	}
}

// answer digests an outcome; errors are answers too.
func answer(digest string, err error) string {
	var escape *EscapeError
	switch {
	case err == nil:
		return digest
	case errors.Is(err, fs.ErrNotExist):
		return "missing"
	case errors.As(err, &escape):
		return "escape"
	default:
		return "error"
	}
}

// Beside adds a file that is not in the tree. What is rendered with it is not kept.
func (v *Recording) Beside(name string, content []byte) {
	if v.beside == nil {
		v.beside = map[string][]byte{}
	}
	v.beside[name] = content
	v.MarkRemote()
}

// Read returns the content of a file named by a slash path relative to the
// root of the platform. The caller must not change it.
func (v *Recording) Read(name string) ([]byte, error) {
	name = path.Clean(name)
	if content, ok := v.beside[name]; ok {
		return content, nil
	}
	data, sum, err := v.tree.readPath(name)
	v.record("read", name, answer(sum, err))
	v.confidence.saw(name, data)
	return data, err
}

func (t *Tree) readPath(name string) ([]byte, string, error) {
	abs, err := t.Abs(name)
	if err != nil {
		return nil, "", err
	}
	return t.read(abs)
}

// List returns the sorted names in a folder; folders end with a slash.
func (v *Recording) List(name string) ([]string, error) {
	name = path.Clean(name)
	names, err := v.tree.listPath(name)
	v.record("list", name, answer(digest([]byte(strings.Join(names, "\x00"))), err))
	return names, err
}

func (t *Tree) listPath(name string) ([]string, error) {
	abs, err := t.Abs(name)
	if err != nil {
		return nil, err
	}
	return list(abs, name)
}

// Kind says what a path is.
type Kind string

// The kinds of path.
const (
	Missing Kind = "missing"
	Folder  Kind = "folder"
	File    Kind = "file"
)

// Stat says what a path is. Out of the repository it is an *EscapeError.
func (v *Recording) Stat(name string) (Kind, error) {
	name = path.Clean(name)
	kind, err := v.tree.stat(name)
	v.record("stat", name, answer(string(kind), err))
	return kind, err
}

func (t *Tree) stat(name string) (Kind, error) {
	abs, err := t.Abs(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Missing, nil
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return Missing, nil //nolint:nilerr // what cannot be looked at is as good as absent
	}
	if info.IsDir() {
		return Folder, nil
	}
	return File, nil
}

// Resolve returns the name of a path without links.
func (v *Recording) Resolve(name string) (string, error) {
	name = path.Clean(name)
	resolved, err := v.tree.resolveName(name)
	v.record("resolve", name, answer(resolved, err))
	return resolved, err
}

func (t *Tree) resolveName(name string) (string, error) {
	abs, err := t.Abs(name)
	if err != nil {
		return "", err
	}
	return t.Rel(abs), nil
}

// Holds reports whether every recorded question still has the recorded answer.
func (t *Tree) Holds(trace Trace) bool {
	for _, step := range trace {
		var got string
		switch step.Op {
		case "read":
			_, sum, err := t.readPath(step.Path)
			got = answer(sum, err)
		case "list":
			names, err := t.listPath(step.Path)
			got = answer(digest([]byte(strings.Join(names, "\x00"))), err)
		case "stat":
			kind, err := t.stat(step.Path)
			got = answer(string(kind), err)
		case "resolve":
			resolved, err := t.resolveName(step.Path)
			got = answer(resolved, err)
		}
		if got != step.Answer {
			return false
		}
	}
	return true
}

// maxDepth and maxEntries bound what one walk visits, so that links in a circle
// end.
const (
	maxDepth   = 40
	maxEntries = 200_000
)

// Walk calls visit for every file below a folder, in sorted order, with its
// path relative to the folder. skip, where given, leaves out folders by their
// path relative to the folder. Links are followed inside the repository.
func Walk(v View, folder string, skip func(rel string) bool, visit func(rel string) error) error {
	left := maxEntries
	return walk(v, folder, "", skip, visit, 0, &left)
}

func walk(v View, folder, rel string, skip func(string) bool, visit func(string) error, depth int, left *int) error {
	if depth > maxDepth {
		return &fs.PathError{Op: "list", Path: path.Join(folder, rel), Err: errors.New("folders are nested too deep; is there a link in a circle?")}
	}
	names, err := v.List(path.Join(folder, rel))
	if err != nil {
		return err
	}
	if *left -= len(names); *left < 0 {
		return &fs.PathError{Op: "list", Path: folder, Err: errors.New("the folder holds too many files; is there a link in a circle?")}
	}
	for _, name := range names {
		child := path.Join(rel, name)
		if strings.HasSuffix(name, "/") {
			if skip != nil && skip(child) {
				continue
			}
			if err := walk(v, folder, child, skip, visit, depth+1, left); err != nil {
				return err
			}
			continue
		}
		if err := visit(child); err != nil {
			return err
		}
	}
	return nil
}

// Remote reports whether something from outside the repository was used.
func (v *Recording) Remote() bool { return v.remote }
