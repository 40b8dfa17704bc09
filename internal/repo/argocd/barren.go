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
	var named []string
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
			if own.object == nil {
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
func (r *Repository) subfolders(component string, to model.Source, manifests []*yamldoc.Value, named []string) []finding.Finding {
	manifests = slices.DeleteFunc(manifests, func(m *yamldoc.Value) bool {
		return r.files[m.Position.File] != nil || reaches(named, to.Path, path.Dir(m.Position.File))
	})
	if len(manifests) == 0 {
		return nil
	}
	f := newFinding(RuleNothing, finding.Info, to.Position, component,
		"%s applies only what lies in %s itself: the manifests in its subfolders are left out, since directory.recurse is not set", component, to.Path)
	f.Evidence = leftOutOf(manifests)
	f.Fix.Summary = "set directory.recurse: true where they are meant to be applied"
	return []finding.Finding{f}
}

// namedFolders are the folders that Applications name, those of other environments and the
// patterns of generators included. What is filled in matches as a star does.
func (r *Repository) namedFolders(components []model.Component) []string {
	var all []string
	add := func(p string) {
		if p != "" {
			all = append(all, strings.TrimPrefix(path.Clean("/"+filledIn.ReplaceAllString(p, "*")), "/"))
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
func reaches(named []string, dir, folder string) bool {
	deep := len(namesOf(dir))
	want := namesOf(folder)
	return slices.ContainsFunc(named, func(p string) bool {
		have := namesOf(p)
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
func leftOutOf(manifests []*yamldoc.Value) []finding.Evidence {
	var all []finding.Evidence
	for _, m := range manifests {
		folder := path.Dir(m.Position.File)
		if len(all) < shownLeftOut && !slices.ContainsFunc(all, func(e finding.Evidence) bool { return path.Dir(e.File) == folder }) {
			all = append(all, finding.Evidence{
				Text: fmt.Sprintf("%s %s is not applied", m.TextAt("kind"), m.TextAt("metadata", "name")), File: m.Position.File, Line: m.Position.Line,
			})
		}
	}
	return all
}

// lay is what lies in a part of a folder.
type lay struct {
	// object is the first of the objects, other what is no object and no comment.
	object *yamldoc.Value
	other  *finding.Position
	// manifests are the first objects of all files.
	manifests []*yamldoc.Value
	// built is set where a kustomization or a chart lies there, which builds tell.
	built  bool
	builds []finding.Evidence
	// unknown is set where something lies there that is not understood.
	unknown bool
}

// laid reads a folder: what a source takes of it, and what lies in the subfolders that it
// does not take.
func (r *Repository) laid(to model.Source) (own, below lay) {
	for _, file := range r.under(to.Path) {
		rel, ok := belowFolder(to.Path, file)
		if !ok || hidden(rel) {
			continue
		}
		part := &own
		if !to.Recurse && strings.Contains(rel, "/") {
			part = &below
		}
		switch name := path.Base(file); {
		case part == &below && (name == "Chart.yaml" || model.IsKustomizationFile(name)):
			part.built = true
			if len(part.builds) < shownLeftOut {
				part.builds = append(part.builds, finding.Evidence{Text: "is built where a source names its folder", File: file, Line: 1})
			}
		case slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(file)):
			r.layOf(file, part)
		case part == &own && !isDocument(file):
			own.unknown = true // a tool may build it, or make manifests of it
		}
		if own.unknown {
			return own, below
		}
	}
	return own, below
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

// layOf reads a file. Beside an object it is enough to know of one.
func (r *Repository) layOf(file string, part *lay) {
	data, err := r.tree.Read(file)
	switch {
	case err != nil, bytes.Contains(data, []byte("+argocd:skip-file-rendering")), manifest.EncryptedBy(data) != "",
		bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")):
		part.unknown = true
		return
	case part.object != nil && !manifest.LooksLike(data):
		return
	}
	values, err := yamldoc.ParseLast(file, data)
	if err != nil {
		part.unknown = true // a template most likely
		return
	}
	for _, v := range values {
		switch {
		case v.Kind == yamldoc.Map && v.TextAt("kind")+v.TextAt("apiVersion") != "":
			if part.object == nil {
				part.object = v // broken where it has one of the two: who renders it tells
			}
			if v.TextAt("kind") != "" && v.TextAt("apiVersion") != "" && v.TextAt("metadata", "name") != "" {
				part.manifests = append(part.manifests, v)
				return
			}
		case v.At("sops") != nil:
			part.unknown = true
			return
		case v.Kind != yamldoc.Null && len(v.Entries)+len(v.Items)+len(v.Text) > 0 && part.other == nil:
			at := v.Position
			part.other = &at
		}
	}
}
