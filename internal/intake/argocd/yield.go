package argocd

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/rollout-ladder/ladder/internal/intake/files"
	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
)

// yield is what a source of an Application applies.
type yield struct {
	documents []document
	// folders are those that the documents come from.
	folders []string
}

// applications returns the Applications among the documents.
func (y yield) applications() []document {
	return slices.DeleteFunc(slices.Clone(y.documents), func(d document) bool { return !d.isApplication() })
}

// yieldFolder reads a folder as Argo CD does: a chart, a kustomization, or plain
// YAML. It reads only folders in which Applications are written, since only
// those can make their Application a parent; others yield nothing.
func (r *Repository) yieldFolder(dir string, directory *yamlpos.Value) (yield, error) {
	explicit := directory != nil && len(directory.Entries) > 0
	switch {
	case !explicit && r.tree.IsFile(path.Join(dir, "Chart.yaml")):
		return yield{}, nil
	case !explicit && r.isKustomization(dir):
		return r.yieldKustomization(dir)
	default:
		return r.yieldDirectory(dir, directory)
	}
}

func (r *Repository) yieldKustomization(dir string) (yield, error) {
	closure := r.closure(dir)
	if !slices.ContainsFunc(closure, func(p string) bool { return len(r.files[p]) > 0 }) {
		return yield{}, nil
	}
	documents, err := r.build(dir)
	if err != nil {
		return yield{}, err
	}
	y := yield{documents: documents}
	for _, p := range closure {
		if r.isKustomization(p) {
			y.folders = append(y.folders, p)
		}
	}
	return y, nil
}

// yieldDirectory reads plain YAML. Source: Argo CD, directory sources.
func (r *Repository) yieldDirectory(dir string, directory *yamlpos.Value) (yield, error) {
	recurse := boolAt(directory, "recurse")
	include, exclude := directory.TextAt("include"), directory.TextAt("exclude")
	taken := func(file string) bool {
		rel, ok := below(dir, file)
		return ok && (recurse || !strings.Contains(rel, "/")) &&
			(include == "" || globMatch(include, rel)) &&
			(exclude == "" || !globMatch(exclude, rel)) &&
			slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(rel))
	}
	var y yield
	for _, file := range r.manifests {
		if r.files[file] == nil || !taken(file) {
			continue
		}
		y.documents = append(y.documents, r.files[file]...)
		if folder := path.Dir(file); !slices.Contains(y.folders, folder) {
			y.folders = append(y.folders, folder)
		}
	}
	if len(y.documents) == 0 {
		return y, nil
	}
	// A parent: what else lies there is applied as well. What does not parse is
	// told when the parent is rendered.
	for _, file := range r.manifests {
		if r.files[file] != nil || !taken(file) {
			continue
		}
		data, err := r.tree.Read(file)
		if err != nil {
			return yield{}, err
		}
		if values, err := yamlpos.Parse(file, data); err == nil {
			y.documents = append(y.documents, split(values)...)
		}
	}
	return y, nil
}

// below returns the path of a file relative to a folder, or to itself when the
// source names the file.
func below(dir, file string) (string, bool) {
	if dir == "." {
		return file, true
	}
	if dir == file {
		return path.Base(file), true
	}
	return strings.CutPrefix(file, dir+"/")
}

// globMatch matches include and exclude of a directory source. In Argo CD's
// globs a star also matches slashes, so the base name is tried as well.
func globMatch(pattern, rel string) bool {
	if ok, err := doublestar.Match(pattern, rel); ok && err == nil {
		return true
	}
	ok, err := doublestar.Match(pattern, path.Base(rel))
	return ok && err == nil
}

// boolAt reads a switch, off where it is not written.
func boolAt(v *yamlpos.Value, keys ...string) bool {
	found := v.At(keys...)
	if found == nil {
		return false
	}
	on, _ := found.Bool()
	return on
}

// yieldApplication reads the local sources of an Application.
func (r *Repository) yieldApplication(d document) (yield, error) {
	var all yield
	for _, s := range d.sources() {
		dir, ok := r.local(s)
		if !ok || s.value.TextAt("ref") != "" && s.path() == "" {
			continue
		}
		if r.tree.IsFile(path.Join(dir, "Chart.yaml")) {
			if i := slices.IndexFunc(r.templated, func(file string) bool { return strings.HasPrefix(file, dir+"/templates/") }); i >= 0 {
				r.notRead(d.position(), d.name(), "the chart %s templates Applications (%s), which are not read", dir, r.templated[i])
			}
			continue
		}
		y, err := r.yieldFolder(dir, s.value.At("directory"))
		if err != nil {
			return yield{}, located(err, s)
		}
		all.documents = append(all.documents, y.documents...)
		all.folders = append(all.folders, y.folders...)
	}
	// Argo CD may manage its own root: an Application in its own source.
	all.documents = slices.DeleteFunc(all.documents, func(o document) bool {
		return o.isApplication() && o.name() == d.name()
	})
	return all, nil
}

// located gives an error without a place that of the source.
func located(err error, s source) error {
	var input *files.InputError
	if errors.As(err, &input) && input.Position.File == "" {
		input.Position = s.at("path")
	}
	return err
}
