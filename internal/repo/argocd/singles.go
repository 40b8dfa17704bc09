package argocd

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// groupSingle sorts Applications that nothing applies, and that apply nothing. They
// belong together unless folders hold alternatives, of which nobody applies two: then
// each of the folders that part them is an environment.
func (r *Repository) groupSingle(single []document, depth int) []Environment {
	parts := partsOf(single, depth)
	if len(parts) == 1 && parts[0].deepest(depth) {
		return []Environment{together(single)}
	}
	var all []Environment
	split := r.alternativeParts(parts)
	for _, part := range parts {
		below := r.groupSingle(part.apps, depth+1)
		split = split || len(below) > 1
		for _, e := range below {
			if e.Name == defaultName && part.folder != "." {
				e.Name = cmp.Or(folderEnvironment(part.folder), strings.ReplaceAll(part.folder, "/", "-"))
			}
			all = append(all, e)
		}
	}
	if !split {
		return []Environment{together(single)}
	}
	return all
}

// together is one environment of Applications.
func together(apps []document) Environment {
	e := Environment{Name: defaultName}
	for _, app := range apps {
		e.roots = append(e.roots, entry{document: app})
	}
	return e
}

// part are the Applications below one of the folders of a depth.
type part struct {
	folder string
	apps   []document
	// named has one of the Applications of each name.
	named map[string]document
}

// partsOf parts Applications by the folders of a depth, sorted.
func partsOf(apps []document, depth int) []part {
	byFolder := map[string]*part{}
	for _, app := range apps {
		segments := strings.Split(path.Dir(app.position().File), "/")
		folder := strings.Join(segments[:min(depth+1, len(segments))], "/")
		if byFolder[folder] == nil {
			byFolder[folder] = &part{folder: folder, named: map[string]document{}}
		}
		byFolder[folder].apps = append(byFolder[folder].apps, app)
		byFolder[folder].named[app.name()] = app
	}
	var all []part
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		all = append(all, *byFolder[folder])
	}
	return all
}

// deepest reports whether no folder of a greater depth parts the Applications.
func (p part) deepest(depth int) bool {
	return !slices.ContainsFunc(p.apps, func(app document) bool {
		return strings.Count(path.Dir(app.position().File), "/") > depth
	})
}

// alternativeParts reports whether two of the folders hold alternatives. Each name is
// compared in the folders that follow each other.
func (r *Repository) alternativeParts(parts []part) bool {
	last, shared := map[string]int{}, map[[2]int][]string{}
	repeats := map[int]bool{}
	for i, part := range parts {
		for _, name := range slices.Sorted(maps.Keys(part.named)) {
			if before, ok := last[name]; ok {
				pair := [2]int{before, i}
				shared[pair] = append(shared[pair], name)
				repeats[before], repeats[i] = true, true
			}
			last[name] = i
		}
	}
	most := len(repeats)*2 >= len(parts)
	for pair, names := range shared {
		if alternative(parts[pair[0]], parts[pair[1]], names, most) {
			return true
		}
	}
	return false
}

// alternative reports whether two folders that share names hold alternatives. Where they
// share one name only it may have been forgotten to be changed in a copy of a file: most
// says that most of the folders around repeat a name, as environments do.
func alternative(one, other part, names []string, most bool) bool {
	if a, b := folderEnvironment(one.folder), folderEnvironment(other.folder); a != "" && b != "" && a != b {
		return true
	}
	if slices.ContainsFunc(names, func(name string) bool { return !rivals(one.named[name], other.named[name]) }) {
		return true
	}
	smaller := min(len(one.named), len(other.named))
	switch {
	case len(names) > 1:
		return 2*len(names) > smaller
	case !most:
		return false
	case slices.ContainsFunc(names, func(name string) bool { return same(one.named[name], other.named[name]) }):
		return true
	}
	// A folder that is called like its Application is none of an environment.
	return smaller == 1 && names[0] != path.Base(one.folder) && names[0] != path.Base(other.folder)
}

// rivals reports whether two Applications of one name would overwrite each other: they
// lie in one namespace, and go to one cluster.
func rivals(a, b document) bool {
	namespace := func(d document) string { return cmp.Or(d.value.TextAt("metadata", "namespace"), defaultNamespace) }
	return namespace(a) == namespace(b) && destination(a) == destination(b)
}

// same reports whether two Applications apply the same in the same place.
func same(a, b document) bool {
	if a.value.TextAt("spec", "destination", "namespace") != b.value.TextAt("spec", "destination", "namespace") {
		return false
	}
	return slices.EqualFunc(a.sources(), b.sources(), func(s, t source) bool {
		return normaliseURL(s.repoURL()) == normaliseURL(t.repoURL()) && s.path() == t.path() && s.value.TextAt("chart") == t.value.TextAt("chart")
	})
}
