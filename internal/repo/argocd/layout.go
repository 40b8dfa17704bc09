package argocd

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// lay is what lies in a part of a folder.
type lay struct {
	// object is set where an object is there, other where something is that is no object
	// and no comment.
	object bool
	other  *finding.Position
	// manifests are the first objects of all files.
	manifests []laidManifest
	// elsewhere is set where other sources name the folders of all manifests.
	elsewhere bool
	// built is set where a kustomization or a chart lies there, which builds tell.
	built  bool
	builds []finding.Evidence
	// off is an object in a file whose name has one ending more than those of manifests, such
	// as role.yaml.off.
	off *finding.Position
	// unknown is set where something lies there that is not understood.
	unknown bool
}

// laidManifest is an object by its kind and name.
type laidManifest struct {
	name string
	at   finding.Position
}

// take adds what lies in a file.
func (l *lay) take(file lay) {
	l.object, l.unknown = l.object || file.object, l.unknown || file.unknown
	l.manifests = append(l.manifests, file.manifests...)
	if l.other == nil {
		l.other = file.other
	}
}

// layout is a folder: what a source takes of it, and what lies in the subfolders that it
// does not take.
type layout struct{ own, below lay }

// layouts keeps what was read for barren: many Applications may take one folder, and folders
// lie in each other.
type layouts struct {
	files   map[string]lay
	folders map[folderTaken]*layout
}

type folderTaken struct {
	path    string
	recurse bool
}

// laid reads a folder.
func (r *Repository) laid(to model.Source) (own, below lay) {
	taken := folderTaken{to.Path, to.Recurse}
	if r.layouts.folders == nil {
		r.layouts.folders = map[folderTaken]*layout{}
	}
	if r.layouts.folders[taken] == nil {
		l := r.layOut(taken)
		r.layouts.folders[taken] = &l
	}
	l := r.layouts.folders[taken]
	return l.own, l.below
}

func (r *Repository) layOut(taken folderTaken) (l layout) {
	for _, file := range r.under(taken.path) {
		rel, ok := belowFolder(taken.path, file)
		if !ok || hidden(rel) {
			continue
		}
		part := &l.own
		if !taken.recurse && strings.Contains(rel, "/") {
			part = &l.below
		}
		switch name := path.Base(file); {
		case part == &l.below && (name == "Chart.yaml" || model.IsKustomizationFile(name)):
			part.built = true
			if len(part.builds) < shownLeftOut {
				part.builds = append(part.builds, finding.Evidence{Text: "is built where a source names its folder", File: file, Line: 1})
			}
		case isManifestEnding(path.Ext(file)):
			part.take(r.layOf(file))
		case part == &l.own && !isDocument(file):
			part.aside(r, file)
		}
		if l.own.unknown || l.below.unknown {
			return l // nothing is told of it
		}
	}
	return l
}

// aside adds a file of another ending than manifests have: one that is switched off by its
// name is understood, of the others a tool may build something.
func (l *lay) aside(r *Repository, file string) {
	off := false
	if isManifestEnding(path.Ext(strings.TrimSuffix(file, path.Ext(file)))) {
		data, err := r.tree.Read(file)
		off = err == nil && !hasPlaceholder(string(data)) && r.layOf(file).object && !r.layOf(file).unknown
	}
	switch {
	case !off:
		l.unknown = true
	case l.off == nil:
		l.off = &finding.Position{File: file, Line: 1}
	}
}

// isManifestEnding reports whether a source of plain YAML takes the files of an ending.
// Source: argo-cd, reposerver/repository, manifestFile.
func isManifestEnding(ending string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, ending)
}

// belowFolder is below, of a folder only.
func belowFolder(dir, file string) (string, bool) {
	if dir == file {
		return "", false
	}
	return below(dir, file)
}

// hidden reports whether a file or a folder on the way to it is hidden, or put aside.
func hidden(rel string) bool {
	return slices.ContainsFunc(strings.Split(rel, "/"), func(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") })
}

// layOf is what lies in a file.
func (r *Repository) layOf(file string) lay {
	if r.layouts.files == nil {
		r.layouts.files = map[string]lay{}
	}
	l, ok := r.layouts.files[file]
	if !ok {
		l = r.readLay(file)
		r.layouts.files[file] = l
	}
	return l
}

func (r *Repository) readLay(file string) (l lay) {
	data, err := r.tree.Read(file)
	if err != nil || bytes.Contains(data, []byte("+argocd:skip-file-rendering")) || manifest.EncryptedBy(data) != "" ||
		manifest.IsPointer(data) {
		return lay{unknown: true}
	}
	values, err := yamldoc.ParseLast(file, data)
	if err != nil {
		return lay{unknown: true} // a template most likely
	}
	for _, v := range values {
		kind, version := v.TextAt("kind"), v.TextAt("apiVersion")
		switch {
		case v.Kind == yamldoc.Map && kind+version != "":
			l.object = true // broken where it has one of the two: who renders it tells
			if name := v.TextAt("metadata", "name"); kind != "" && version != "" && name != "" {
				l.manifests = append(l.manifests, laidManifest{kind + " " + name, v.Position})
				return l
			}
		case v.At("sops") != nil:
			return lay{unknown: true}
		case v.Kind != yamldoc.Null && len(v.Entries)+len(v.Items)+len(v.Text) > 0 && l.other == nil:
			at := v.Position
			l.other = &at
		}
	}
	return l
}
