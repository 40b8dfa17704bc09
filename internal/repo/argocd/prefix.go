package argocd

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// places are the paths that objects take below one address, as they are written, with
// where one of them is: folders of sources, value files, and the folders that generators
// look into.
type places map[string]finding.Position

func (p places) note(written string, at finding.Position) {
	clean := strings.TrimPrefix(path.Clean("/"+written), "/")
	if _, there := p[clean]; !there && clean != "" {
		p[clean] = at
	}
}

// findPrefix finds out whether this repository is the folder of another one, or a copy
// of it, which the addresses still name: all of the several paths below one address
// begin with folders that are not here, and without these all of them are here. One
// path that is not here contradicts, and so does an address that is known to be this
// repository's.
func (r *Repository) findPrefix(t tallies) {
	for url, counted := range t {
		if r.places[url] == nil {
			r.places[url] = places{}
		}
		for _, written := range slices.Sorted(maps.Keys(counted.places)) {
			r.places[url].note(written, counted.places[written])
		}
	}
	if r.prefix != "" || slices.Contains(slices.Collect(maps.Values(r.own)), true) {
		return
	}
	found, prefix := "", ""
	for url, all := range r.places {
		if p := r.prefixOf(all); p != "" {
			if found != "" {
				return
			}
			found, prefix = url, p
		}
	}
	if found == "" {
		return
	}
	r.own[found], r.tallied[found], r.prefixes[found] = true, true, prefix
	// Generators see the files where they are in the other repository.
	r.prefix = prefix + "/"
	r.paths = make([]string, len(r.all))
	for i, file := range r.all {
		r.paths[i] = r.prefix + file
	}
	first := slices.Min(slices.Collect(maps.Keys(r.places[found])))
	r.moved = append(r.moved, newFinding(RuleAssumed, finding.Info, r.places[found][first], "",
		"this repository is taken to be the folder %s of %s: all of the %d paths that are taken from there are here without it", prefix, found, len(r.places[found])))
}

// prefixOf are the folders that paths begin with and that are not here; empty where
// there are none. A path of one folder could be anywhere, so that it tells nothing.
func (r *Repository) prefixOf(all places) string {
	paths := slices.Sorted(maps.Keys(all))
	if len(paths) < minSure {
		return ""
	}
	parts := strings.Split(paths[0], "/")
	for n := 1; n < len(parts) && n <= maxBase; n++ {
		prefix := path.Join(parts[:n]...)
		deep := 0
		missing := slices.ContainsFunc(paths, func(p string) bool {
			rest, within := strings.CutPrefix(p, prefix+"/")
			if strings.Contains(rest, "/") {
				deep++
			}
			return !within || !r.there(rest) || r.there(p)
		})
		if !missing && deep >= minSure {
			return prefix
		}
	}
	return ""
}

// there reports whether there is a file or folder of a path.
func (r *Repository) there(p string) bool { return r.tree.IsDir(p) || r.tree.IsFile(p) }
