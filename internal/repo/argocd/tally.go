package argocd

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// tally counts how many of the paths below an address exist in this repository.
type tally struct {
	here, all int
	// found are the different ones that exist.
	found map[string]bool
	// weak is set where a path says little: the root, or a bare star.
	weak bool
	// sure is set where one object takes several paths, and all of them exist.
	sure bool
	// taken counts the paths of Applications, paths are the different ones, and below
	// those of them that exist below a folder around the file of the Application.
	taken int
	first finding.Position
	// address is as it is written.
	address string
	paths   map[string]bool
	below   map[string]map[string]bool
	// around are those of below, and those around the file of an Application that is in what it applies.
	around map[string]map[string]bool
	// places are all paths, for a repository that is the folder of another.
	places places
	// twins are the addresses of which an Application takes the same path as of this one: two
	// repositories, since nobody takes a folder twice.
	twins map[string]bool
}

// base is the folder that becomes a repository of its own, from which all paths are
// that this repository does not have; empty where there is none. What generators find
// there is not looked for. An address that is written out and that is not called like
// the folder is another repository, whose folders may have the names of those here, unless
// none of the paths exists outside of the folder, and all say more than one name or it is
// the only address in a tree that has none of its own.
func (t *tally) base(only bool) string {
	if t.here*2 >= t.all || len(t.paths) < minSure || t.taken < t.all {
		return ""
	}
	var all []string
	for folder, found := range t.below {
		called := path.Base(folder) == path.Base(normaliseURL(t.address))
		if len(found) == len(t.paths) && (called || hasPlaceholder(t.address) || t.here == 0 && (only || t.deep())) {
			all = append(all, folder)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.MinFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
}

// called is the folder with the name of an address that the checkout is not called like, where all of
// its paths are; empty where there is none. That some exist in this repository too is a coincidence.
func (t *tally) called(origin string) string {
	name := path.Base(normaliseURL(t.address))
	if origin == "" || path.Base(origin) == name || len(t.paths) == 0 || t.taken < t.all || hasPlaceholder(t.address) {
		return ""
	}
	var all []string
	for folder, found := range t.around {
		if path.Base(folder) == name && len(found) == len(t.paths) {
			all = append(all, folder)
		}
	}
	slices.Sort(all)
	return append(all, "")[0]
}

// deep reports whether all paths have several folders.
func (t *tally) deep() bool {
	for written := range t.paths {
		if !strings.Contains(strings.Trim(path.Clean(written), "/"), "/") {
			return false
		}
	}
	return true
}

// minSure is how many different paths of one object exist by no coincidence.
const minSure = 3

// count counts a path.
func (t *tally) count(path string, exists bool) {
	t.all++
	if !exists {
		return
	}
	t.here++
	t.find(path)
}

func (t *tally) find(path string) {
	if t.found == nil {
		t.found = map[string]bool{}
	}
	t.found[path] = true
}

type tallies map[string]*tally

func (t tallies) at(url string) *tally {
	url = normaliseURL(url)
	if t[url] == nil {
		t[url] = &tally{places: places{}}
	}
	return t[url]
}

// addresses is how many addresses something is taken of.
func (t tallies) addresses() int {
	n := 0
	for _, of := range t {
		if of.all > 0 || of.weak {
			n++
		}
	}
	return n
}

// add counts what one object takes.
func (t tallies) add(object tallies) {
	for url, counted := range object {
		to := t.at(url)
		for twin := range counted.twins {
			to.twin(twin)
		}
		to.here, to.all = to.here+counted.here, to.all+counted.all
		to.weak = to.weak || counted.weak
		to.sure = to.sure || counted.here == counted.all && len(counted.found) >= minSure
		if to.taken == 0 {
			to.first, to.address = counted.first, counted.address
		}
		to.taken += counted.taken
		for written := range counted.paths {
			to.note(written)
		}
		for written := range counted.found {
			to.find(written)
		}
		for written, at := range counted.places {
			to.places.note(written, at)
		}
		for dir, found := range counted.around {
			for written := range found {
				to.noteAround(dir, written)
			}
		}
		for dir, found := range counted.below {
			for written := range found {
				to.noteBelow(dir, written)
			}
		}
	}
}

// maxBase is how deep a folder may lie that becomes a repository of its own: each folder
// around an Application is asked of the file system.
const maxBase = 5

// countBelow counts a path for the folders around a file. A folder that the file lies in
// does not count: an Application does not apply itself.
func (t *tally) countBelow(r *Repository, file, written string) {
	t.taken++
	t.note(written)
	if path.Dir(file) == "." {
		return
	}
	parts := strings.Split(path.Dir(file), "/")
	for i := range min(len(parts), maxBase) {
		dir := path.Join(parts[:i+1]...)
		p := path.Join(dir, written)
		if !r.tree.IsDir(p) && !r.tree.IsFile(p) {
			continue
		}
		t.noteAround(dir, written)
		if _, itself := below(p, file); !itself {
			t.noteBelow(dir, written)
		}
	}
}

func (t *tally) noteAround(dir, written string) {
	if t.around == nil {
		t.around = map[string]map[string]bool{}
	}
	if t.around[dir] == nil {
		t.around[dir] = map[string]bool{}
	}
	t.around[dir][written] = true
}

func (t *tally) note(written string) {
	if t.paths == nil {
		t.paths, t.below = map[string]bool{}, map[string]map[string]bool{}
	}
	t.paths[written] = true
}

func (t *tally) noteBelow(dir, written string) {
	if t.below[dir] == nil {
		t.below[dir] = map[string]bool{}
	}
	t.below[dir][written] = true
}
