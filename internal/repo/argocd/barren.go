package argocd

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// shownLeftOut bounds how many subfolders are named.
const shownLeftOut = 4

// barren tells of folders of plain YAML of which nothing is applied, and of the manifests
// in their subfolders where only the files beside these are. documents are the Applications
// by the names of their components. Source: Argo CD, directory sources.
func (w *walk) barren(components []model.Component, documents map[string]document) []finding.Finding {
	r := w.repository
	named := sync.OnceValue(func() [][]string { return r.namedFolders(components, nil) })
	var found []finding.Finding
	for _, c := range components {
		d := documents[c.Name]
		for _, to := range c.Sources {
			if to.Kind != model.Manifests || !c.Enabled || d.value == nil || w.told[to.Position] {
				continue
			}
			if r.tells(d, to) {
				found = append(found, r.barrenSource(c, d, to, named)...)
			} else if r.readsHead(d, to) {
				found = append(found, r.chosenNone(c, d, to)...)
			}
		}
	}
	return found
}

func (r *Repository) barrenSource(c model.Component, d document, to model.Source, named func() [][]string) []finding.Finding {
	own, below := r.laid(to)
	switch {
	case own.unknown || below.unknown:
		return nil
	case !own.object:
		one := r.appliesBeside(c, d, to)
		below.elsewhere = one && !slices.ContainsFunc(below.manifests, func(m laidManifest) bool { return !reaches(named(), to.Path, path.Dir(m.at.File)) })
		return nothingApplied(c.Name, to, one, own, below)
	case len(below.manifests) == 0 || below.built:
		return nil
	}
	return r.subfolders(c.Name, to, below.manifests, named())
}

// tells reports whether the files of a folder tell what is applied of it: not where another
// revision or patterns choose, or the source is there for its values.
func (r *Repository) tells(d document, to model.Source) bool {
	return to.Include+to.Exclude == "" && r.readsHead(d, to)
}

// chosenNone tells of patterns that leave out every manifest of a folder.
func (r *Repository) chosenNone(c model.Component, d document, to model.Source) []finding.Finding {
	if to.Include == "" {
		return nil
	}
	var first finding.Position
	for _, file := range r.under(to.Path) {
		rel, ok := belowFolder(to.Path, file)
		if !ok || !isManifestEnding(path.Ext(file)) && path.Ext(file) != ".jsonnet" || !to.Recurse && strings.Contains(rel, "/") {
			continue
		}
		if taken(to.Include, to.Exclude, rel) {
			return nil
		}
		if l := r.layOf(file); first.File == "" && len(l.manifests) > 0 {
			first = finding.Position{File: file, Line: 1}
		}
	}
	if first.File == "" {
		return nil
	}
	who, severity := c.Name, finding.Warning
	if r.appliesBeside(c, d, to) {
		who, severity = "this source of "+c.Name, finding.Info
	}
	f := newFinding(RuleNothing, severity, to.Position, c.Name, "%s applies nothing: directory.include %s takes no file of the folder %s", who, to.Include, to.Path)
	f.Evidence = []finding.Evidence{{Text: "is left out", File: first.File, Line: first.Line}}
	f.Fix.Summary = "correct the pattern, or drop the source"
	return []finding.Finding{f}
}

// readsHead reports whether a source takes a folder as it is here.
func (r *Repository) readsHead(d document, to model.Source) bool {
	i := slices.IndexFunc(d.sources(), func(s source) bool { return s.position == to.Position })
	if i < 0 || to.Jsonnet != nil || to.Refused+to.Incomplete != "" || d.generated != nil && d.generated.assumed {
		return false
	}
	s := d.sources()[i]
	return s.value.TextAt("ref") == "" && isHead(s.value.TextAt("targetRevision")) && r.tree.IsDir(to.Path)
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
// other environments and the patterns of generators included, but for the Applications that
// are left out. What is filled in matches as a star does.
func (r *Repository) namedFolders(components []model.Component, leftOut []document) [][]string {
	not := map[string]bool{}
	for _, d := range leftOut {
		not[d.key()] = true
	}
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
		if !not[d.key()] {
			eachPath(d.value, add)
		}
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
// may be meant. one is set where other sources of the Application apply something.
func nothingApplied(component string, to model.Source, one bool, own, below lay) []finding.Finding {
	who, severity := component, finding.Warning
	if one {
		who, severity = "this source of "+component, finding.Info
	}
	f := newFinding(RuleNothing, severity, to.Position, component, "%s applies nothing: ", who)
	switch {
	case below.built:
		f.Message += fmt.Sprintf("the folder %s holds no manifest of its own, and what is built lies in its subfolders", to.Path)
		f.Evidence, f.Fix.Summary = below.builds, "name the folder that is to be built"
	case len(below.manifests) > 0:
		f.Message += fmt.Sprintf("the manifests of %s are in subfolders, and directory.recurse is not set", to.Path)
		f.Evidence, f.Fix.Summary = leftOutOf(below.manifests), "set directory.recurse: true, or correct the path"
		switch {
		case below.elsewhere:
			f.Message += ": other sources name their folders"
			f.Evidence, f.Fix.Summary = nil, "drop this source"
		case one:
			f.Severity = finding.Warning // they are left out
		}
	case own.other != nil:
		f.Message += fmt.Sprintf("the folder %s holds no manifest", to.Path)
		f.Evidence = []finding.Evidence{{Text: "no object of Kubernetes: it has no kind", File: own.other.File, Line: own.other.Line}}
		f.Fix.Summary = "name the folder of the manifests, or the chart that the values are for"
		if one {
			f.Fix.Summary = "drop this source"
		}
	case own.off != nil:
		f.Severity = finding.Info // somebody has switched it off
		f.Message += fmt.Sprintf("no file of the folder %s ends with .yaml, .yml or .json", to.Path)
		f.Evidence = []finding.Evidence{{Text: "is passed over", File: own.off.File, Line: own.off.Line}}
		f.Fix.Summary = "rename what is meant to be applied, or drop the Application"
		if one {
			f.Fix.Summary = "rename what is meant to be applied, or drop this source"
		}
	default:
		return nil
	}
	return []finding.Finding{f}
}

// appliesBeside reports whether another source of a component may apply something.
func (r *Repository) appliesBeside(c model.Component, d document, one model.Source) bool {
	return slices.ContainsFunc(c.Sources, func(to model.Source) bool {
		if to.Position == one.Position {
			return false
		}
		if to.Kind != model.Manifests || !r.tells(d, to) {
			return true
		}
		own, _ := r.laid(to)
		return own.object || own.unknown
	})
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
