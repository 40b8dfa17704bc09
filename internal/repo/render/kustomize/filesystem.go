package kustomize

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// climb is how many folders a name may climb out of the platform, to its repository.
const climb = 32

var errReadOnly = errors.New("the repository is read only")

// repository is the file system kustomize sees: the repository, with some files
// replaced, and the repositories that were fetched. Nothing of this machine: the
// absolute paths exist here only. Their first folder is a secret, so that a
// kustomization that was fetched cannot name the files of another repository.
type repository struct {
	view source.View
	// root is the absolute path of the platform.
	root    string
	fetched map[string]source.View // by absolute path
	replace map[string][]byte      // by absolute path
	// generated are kustomization files that the repository does not have, by absolute
	// path, before they are rewritten.
	generated map[string][]byte
	// rewrite changes a kustomization file when it is first read.
	rewrite func(abs string, data []byte) ([]byte, error)
	// seen are the files that were read.
	seen []string
	// first is the first thing that went wrong; kustomize's own errors name
	// only the last.
	first error
}

func newRepository(view source.View) *repository {
	return &repository{
		view: view, root: "/" + rand.Text() + strings.Repeat("/_", climb),
		fetched: map[string]source.View{}, replace: map[string][]byte{}, generated: map[string][]byte{},
	}
}

// add puts a repository that was fetched into the file system and returns the
// absolute path of its root.
func (r *repository) add(checkout source.View) string {
	root := "/" + rand.Text()
	r.fetched[root] = checkout
	return root
}

// abs is the absolute path of a name in the platform.
func (r *repository) abs(name string) string { return path.Join(r.root, name) }

// rel is the name of an absolute path, relative to the platform or in what was
// fetched.
func (r *repository) rel(name string) string {
	_, inside, _ := r.locate(name)
	return inside
}

// own reports whether an absolute path is in the repository itself.
func (r *repository) own(name string) bool {
	top, _, _ := strings.Cut(r.root[1:], "/")
	return name == "/"+top || strings.HasPrefix(name, "/"+top+"/")
}

// locate finds the view that holds an absolute path, the name in it, and the
// absolute path of its root. view is nil where none holds it.
func (r *repository) locate(name string) (view source.View, inside, root string) {
	if r.own(name) {
		inside, _ = filepath.Rel(r.root, name) // both are absolute
		return r.view, inside, r.root
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	root = "/" + first
	if view = r.fetched[root]; view == nil {
		// Climbed out of everything; said as if from the root of the platform.
		return nil, strings.Repeat("../", climb+1) + strings.TrimPrefix(name, "/"), "/"
	}
	return view, path.Clean("./" + rest), root
}

// plain replaces the absolute paths in a text by names.
func (r *repository) plain(text string) string {
	for root := range r.fetched {
		text = strings.ReplaceAll(text, strings.TrimPrefix(root, "/")+"/", "")
	}
	text = strings.ReplaceAll(text, r.root+"/", "")
	top, _, _ := strings.Cut(r.root[1:], "/")
	for strings.Contains(text, "/"+top) {
		at := strings.Index(text, "/"+top)
		end := at + strings.IndexAny(text[at:]+" ", " '\"\n:")
		text = text[:at] + r.rel(text[at:end]) + text[end:]
	}
	return text
}

// note keeps the first escape from the repository and the first file that is too
// large.
func (r *repository) note(err error) error {
	var escape *source.EscapeError
	var size *source.SizeError
	if r.first == nil && (errors.As(err, &escape) || errors.As(err, &size)) {
		r.first = source.Errorf(finding.Position{}, "%w", err)
	}
	return err
}

func isKustomization(name string) bool {
	switch filepath.Base(name) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return true
	}
	return false
}

// ReadFile implements filesys.FileSystem.
func (r *repository) ReadFile(name string) ([]byte, error) {
	if data, ok := r.replace[name]; ok {
		return data, nil
	}
	data, err := r.read(name)
	if err != nil {
		return nil, r.note(err)
	}
	r.seen = append(r.seen, name)
	if ext := filepath.Ext(name); (ext == ".yaml" || ext == ".yml") && manifest.IsPointer(data) {
		err := source.Errorf(finding.Position{File: r.rel(name), Line: 1}, "%s is a pointer of Git LFS, not the file; run git lfs pull", r.rel(name))
		if r.first == nil {
			r.first = err
		}
		return nil, err
	}
	if isKustomization(name) {
		data, err = r.rewrite(name, data)
		if err != nil {
			if r.first == nil {
				r.first = err
			}
			return nil, err
		}
		r.replace[name] = data
	}
	return data, nil
}

// read reads a file as it is, or as it was generated.
func (r *repository) read(name string) ([]byte, error) {
	if data, ok := r.generated[name]; ok {
		return data, nil
	}
	view, inside, _ := r.locate(name)
	if view == nil {
		return nil, &source.EscapeError{Path: inside}
	}
	return view.Read(inside)
}

// again forgets the kustomization files that were rewritten.
func (r *repository) again() {
	for name := range r.replace {
		if isKustomization(name) {
			delete(r.replace, name)
		}
	}
}

// standsIn reports whether a file is not, or not as it is, one of the repository.
func (r *repository) standsIn(name string) bool {
	_, replaced := r.replace[name]
	_, generated := r.generated[name]
	return replaced || generated
}

// stat says what a path is.
func (r *repository) stat(name string) (source.Kind, error) {
	view, inside, _ := r.locate(name)
	if view == nil {
		return "", &source.EscapeError{Path: inside}
	}
	return view.Stat(inside)
}

// CleanedAbs implements filesys.FileSystem: the folder and file of a path,
// links resolved.
func (r *repository) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	if r.standsIn(name) {
		return filesys.ConfirmedDir(filepath.Dir(name)), filepath.Base(name), nil
	}
	kind, err := r.stat(name)
	if err != nil {
		return "", "", r.note(err)
	}
	if kind == source.Missing {
		return "", "", &fs.PathError{Op: "open", Path: r.rel(name), Err: fs.ErrNotExist}
	}
	view, inside, root := r.locate(name) // there is one, as stat found it
	resolved, err := view.Resolve(inside)
	if err != nil {
		return "", "", r.note(err)
	}
	resolved = path.Join(root, resolved)
	if kind == source.Folder {
		return filesys.ConfirmedDir(resolved), "", nil
	}
	return filesys.ConfirmedDir(filepath.Dir(resolved)), filepath.Base(resolved), nil
}

// Exists implements filesys.FileSystem.
func (r *repository) Exists(name string) bool {
	if r.standsIn(name) {
		return true
	}
	kind, err := r.stat(name)
	return r.note(err) == nil && kind != source.Missing
}

// IsDir implements filesys.FileSystem.
func (r *repository) IsDir(name string) bool {
	kind, err := r.stat(name)
	return r.note(err) == nil && kind == source.Folder
}

// ReadDir implements filesys.FileSystem.
func (r *repository) ReadDir(name string) ([]string, error) {
	view, inside, _ := r.locate(name)
	if view == nil {
		return nil, r.note(&source.EscapeError{Path: inside})
	}
	names, err := view.List(inside)
	for i := range names {
		names[i] = strings.TrimSuffix(names[i], "/")
	}
	return names, r.note(err)
}

// Glob implements filesys.FileSystem.
func (r *repository) Glob(pattern string) ([]string, error) {
	folder := filepath.Dir(pattern)
	if strings.ContainsAny(folder, "*?[") {
		return nil, errors.New("patterns in folder names are not supported: " + r.rel(pattern))
	}
	names, err := r.ReadDir(folder)
	if err != nil {
		return nil, nil //nolint:nilerr // what cannot be read matches nothing, as in filepath.Glob
	}
	var out []string
	for _, name := range names {
		if ok, err := path.Match(filepath.Base(pattern), name); err != nil {
			return nil, err
		} else if ok && (!strings.HasPrefix(name, ".") || strings.HasPrefix(filepath.Base(pattern), ".")) {
			out = append(out, filepath.Join(folder, name))
		}
	}
	return out, nil
}

// Walk implements filesys.FileSystem. Kustomize walks only what it cloned itself.
func (r *repository) Walk(string, filepath.WalkFunc) error { return errReadOnly }

// Open implements filesys.FileSystem. Kustomize reads with ReadFile.
func (r *repository) Open(string) (filesys.File, error) { return nil, errReadOnly }

// RemoveAll implements filesys.FileSystem.
func (r *repository) RemoveAll(string) error { return errReadOnly }

// Create implements filesys.FileSystem.
func (r *repository) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir implements filesys.FileSystem.
func (r *repository) Mkdir(string) error { return errReadOnly }

// MkdirAll implements filesys.FileSystem.
func (r *repository) MkdirAll(string) error { return errReadOnly }

// WriteFile implements filesys.FileSystem.
func (r *repository) WriteFile(string, []byte) error { return errReadOnly }
