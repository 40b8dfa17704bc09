package kustomize

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/render/source"
)

var errReadOnly = errors.New("the repository is read only")

// repository is the file system kustomize sees: the repository, with some
// files replaced, and kustomize's own clones of remote bases.
type repository struct {
	view    *source.View
	replace map[string][]byte // by absolute path
	// rewrite changes a kustomization file when it is first read.
	rewrite func(abs string, data []byte) ([]byte, error)
	clones  filesys.FileSystem
	// first is the first thing that went wrong; kustomize's own errors name
	// only the last.
	first error
}

// clone reports whether a path belongs to kustomize's clone of a remote base.
func (r *repository) clone(name string) bool {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		temp = os.TempDir()
	}
	return strings.HasPrefix(name, filepath.Join(temp, "kustomize-")) && r.view.Remote()
}

func (r *repository) rel(name string) string { return r.view.Tree().Rel(name) }

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
	if r.clone(name) {
		return r.clones.ReadFile(name)
	}
	data, err := r.view.Read(r.rel(name))
	if err != nil {
		return nil, r.note(err)
	}
	if err := manifest.CheckAliases(data); err != nil {
		r.first = source.Errorf(finding.Position{File: r.rel(name)}, "%w", err)
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

// again forgets the kustomization files that were rewritten.
func (r *repository) again() {
	for name := range r.replace {
		if isKustomization(name) {
			delete(r.replace, name)
		}
	}
}

// CleanedAbs implements filesys.FileSystem: the folder and file of a path,
// links resolved.
func (r *repository) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	if r.clone(name) {
		return r.clones.CleanedAbs(name)
	}
	if _, ok := r.replace[name]; ok {
		return filesys.ConfirmedDir(filepath.Dir(name)), filepath.Base(name), nil
	}
	kind, err := r.view.Stat(r.rel(name))
	if err != nil {
		return "", "", r.note(err)
	}
	if kind == source.Missing {
		return "", "", &fs.PathError{Op: "open", Path: r.rel(name), Err: fs.ErrNotExist}
	}
	abs, err := r.view.Tree().Abs(r.rel(name))
	if err != nil {
		return "", "", r.note(err)
	}
	if kind == source.Folder {
		return filesys.ConfirmedDir(abs), "", nil
	}
	return filesys.ConfirmedDir(filepath.Dir(abs)), filepath.Base(abs), nil
}

// Exists implements filesys.FileSystem.
func (r *repository) Exists(name string) bool {
	if _, ok := r.replace[name]; ok {
		return true
	}
	if r.clone(name) {
		return r.clones.Exists(name)
	}
	kind, err := r.view.Stat(r.rel(name))
	return r.note(err) == nil && kind != source.Missing
}

// IsDir implements filesys.FileSystem.
func (r *repository) IsDir(name string) bool {
	if r.clone(name) {
		return r.clones.IsDir(name)
	}
	kind, err := r.view.Stat(r.rel(name))
	return r.note(err) == nil && kind == source.Folder
}

// ReadDir implements filesys.FileSystem.
func (r *repository) ReadDir(name string) ([]string, error) {
	if r.clone(name) {
		return r.clones.ReadDir(name)
	}
	names, err := r.view.List(r.rel(name))
	for i := range names {
		names[i] = strings.TrimSuffix(names[i], "/")
	}
	return names, r.note(err)
}

// Glob implements filesys.FileSystem.
func (r *repository) Glob(pattern string) ([]string, error) {
	if r.clone(pattern) {
		return r.clones.Glob(pattern)
	}
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

// Walk implements filesys.FileSystem. Kustomize walks only what it cloned.
func (r *repository) Walk(name string, visit filepath.WalkFunc) error {
	if r.clone(name) {
		return r.clones.Walk(name, visit)
	}
	return errReadOnly
}

// Open implements filesys.FileSystem. Kustomize reads with ReadFile.
func (r *repository) Open(name string) (filesys.File, error) {
	if r.clone(name) {
		return r.clones.Open(name)
	}
	return nil, errReadOnly
}

// RemoveAll implements filesys.FileSystem, for clones only.
func (r *repository) RemoveAll(name string) error {
	if r.clone(name) {
		return r.clones.RemoveAll(name)
	}
	return errReadOnly
}

// Create implements filesys.FileSystem.
func (r *repository) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir implements filesys.FileSystem.
func (r *repository) Mkdir(string) error { return errReadOnly }

// MkdirAll implements filesys.FileSystem.
func (r *repository) MkdirAll(string) error { return errReadOnly }

// WriteFile implements filesys.FileSystem.
func (r *repository) WriteFile(string, []byte) error { return errReadOnly }
