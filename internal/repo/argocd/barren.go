package argocd

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// shownLeftOut bounds how many subfolders are named.
const shownLeftOut = 4

// barren tells of folders of plain YAML of which nothing is applied, and of the manifests
// in their subfolders where only the files beside these are. documents are the Applications
// by the names of their components. Source: Argo CD, directory sources.
func (w *walk) barren(components []model.Component, documents map[string]document) []finding.Finding {
	r := w.repository
	var named [][]string
	var found []finding.Finding
	for _, c := range components {
		d := documents[c.Name]
		for _, to := range c.Sources {
			if to.Kind != model.Manifests || !c.Enabled || d.value == nil || !r.tells(d, to) {
				continue
			}
			own, below := r.laid(to)
			if own.unknown || below.unknown {
				continue
			}
			if !own.object {
				found = append(found, nothingApplied(c.Name, to, own, below)...)
				continue
			}
			if len(below.manifests) == 0 || below.built {
				continue
			}
			if named == nil {
				named = r.namedFolders(components)
			}
			found = append(found, r.subfolders(c.Name, to, below.manifests, named)...)
		}
	}
	return found
}

// tells reports whether the files of a folder tell what is applied of it: not where another
// revision or patterns choose, or the source is there for its values.
func (r *Repository) tells(d document, to model.Source) bool {
	i := slices.IndexFunc(d.sources(), func(s source) bool { return s.position == to.Position })
	if i < 0 || to.Jsonnet != nil || to.Include+to.Exclude != "" || to.Refused+to.Incomplete != "" || d.generated != nil && d.generated.assumed {
		return false
	}
	s := d.sources()[i]
	return s.value.TextAt("ref") == "" && slices.Contains(heads, s.value.TextAt("targetRevision")) && r.tree.IsDir(to.Path)
}

// subfolders tells of the manifests in subfolders, but for those that something else applies.
func (r *Repository) subfolders(component string, to model.Source, manifests []laidManifest, named [][]string) []finding.Finding {
	var left []laidManifest
	asked := map[string]bool{} // folders
	for _, m := range manifests {
		folder := path.Dir(m.at.File)
		if asked[folder] || r.files[m.at.File] != nil {
			continue
		}
		asked[folder] = true
		if !reaches(named, to.Path, folder) {
			left = append(left, m)
		}
		if len(left) == shownLeftOut {
			break
		}
	}
	if len(left) == 0 {
		return nil
	}
	f := newFinding(RuleNothing, finding.Info, to.Position, component,
		"%s applies only what lies in %s itself: the manifests in its subfolders are left out, since directory.recurse is not set", component, to.Path)
	f.Evidence = leftOutOf(left)
	f.Fix.Summary = "set directory.recurse: true where they are meant to be applied"
	return []finding.Finding{f}
}

// namedFolders are the names on the way to each folder that Applications name, those of
// other environments and the patterns of generators included. What is filled in matches as
// a star does.
func (r *Repository) namedFolders(components []model.Component) [][]string {
	var all [][]string
	known := map[string]bool{}
	add := func(p string) {
		if p != "" && !known[p] {
			known[p] = true
			all = append(all, namesOf(strings.TrimPrefix(path.Clean("/"+filledIn.ReplaceAllString(p, "*")), "/")))
		}
	}
	for _, c := range components {
		for _, s := range c.Sources {
			add(s.Path)
		}
	}
	for _, d := range slices.Concat(r.applications, r.disabled, r.sets, r.aside, r.leftOut) {
		eachPath(d.value, add)
	}
	return all
}

// eachPath visits the texts of all fields path.
func eachPath(v *yamldoc.Value, visit func(text string)) {
	for _, e := range v.Entries {
		if e.Key == "path" {
			visit(e.Value.Text)
		}
		eachPath(e.Value, visit)
	}
	for _, item := range v.Items {
		eachPath(item, visit)
	}
}

// reaches reports whether one of the named folders is a subfolder of dir that holds folder,
// or lies in it.
func reaches(named [][]string, dir, folder string) bool {
	deep := len(namesOf(dir))
	want := namesOf(folder)
	return slices.ContainsFunc(named, func(have []string) bool {
		if len(have) <= deep {
			return false
		}
		for i := range min(len(have), len(want)) {
			if ok, err := path.Match(have[i], want[i]); have[i] != "**" && (err != nil || !ok) {
				return false
			}
			if have[i] == "**" {
				break
			}
		}
		return true
	})
}

// namesOf are the names on the way to a folder.
func namesOf(folder string) []string {
	if folder == "." || folder == "" {
		return nil
	}
	return strings.Split(folder, "/")
}

// nothingApplied tells of a folder without a manifest of its own. One in which nothing lies
// may be meant.
func nothingApplied(component string, to model.Source, own, below lay) []finding.Finding {
	f := newFinding(RuleNothing, finding.Warning, to.Position, component, "%s applies nothing: the folder %s holds no manifest", component, to.Path)
	switch {
	case below.built:
		f.Message += " of its own, and what is built lies in its subfolders"
		f.Evidence, f.Fix.Summary = below.builds, "name the folder that is to be built"
	case len(below.manifests) > 0:
		f.Message = fmt.Sprintf("%s applies nothing: the manifests of %s are in subfolders, and directory.recurse is not set", component, to.Path)
		f.Evidence, f.Fix.Summary = leftOutOf(below.manifests), "set directory.recurse: true, or correct the path"
	case own.other != nil:
		f.Evidence = []finding.Evidence{{Text: "no object of Kubernetes: it has no kind", File: own.other.File, Line: own.other.Line}}
		f.Fix.Summary = "name the folder of the manifests, or the chart that the values are for"
	default:
		return nil
	}
	return []finding.Finding{f}
}

// leftOutOf is the first manifest of each subfolder.
func leftOutOf(manifests []laidManifest) []finding.Evidence {
	var all []finding.Evidence
	for _, m := range manifests {
		folder := path.Dir(m.at.File)
		if !slices.ContainsFunc(all, func(e finding.Evidence) bool { return path.Dir(e.File) == folder }) {
			all = append(all, finding.Evidence{Text: m.name + " is not applied", File: m.at.File, Line: m.at.Line})
		}
		if len(all) == shownLeftOut {
			break
		}
	}
	return all
}

// lay is what lies in a part of a folder.
type lay struct {
	// object is set where an object is there, other where something is that is no object
	// and no comment.
	object bool
	other  *finding.Position
	// manifests are the first objects of all files.
	manifests []laidManifest
	// built is set where a kustomization or a chart lies there, which builds tell.
	built  bool
	builds []finding.Evidence
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
		r.layouts = layouts{files: map[string]lay{}, folders: map[folderTaken]*layout{}}
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
		case slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(file)):
			part.take(r.layOf(file))
		case part == &l.own && !isDocument(file):
			part.unknown = true // a tool may build it, or make manifests of it
		}
		if l.own.unknown || l.below.unknown {
			return l // nothing is told of it
		}
	}
	return l
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
		bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")) {
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
