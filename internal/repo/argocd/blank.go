package argocd

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// blank matches what a tool fills in when it copies a template of a repository.
var blank = lazyregexp.New(`<[A-Z][A-Z0-9_]+>|\b__[A-Z][A-Z0-9_]*[A-Z0-9]__\b`)

// blanks are the folders that a beginning with blanks stands for, such as the one of each
// kind of cluster for registry/<CLUSTER_NAME>.
type blanks map[string]map[string]bool

// splitBlank parts a path into its folders up to the last one with a blank, and the rest.
// Such a path is of this repository's only where its address is filled in, too.
func splitBlank(s source) (beginning, rest string, ok bool) {
	if s.value.TextAt("chart") != "" || !blank.MatchString(s.repoURL()) {
		return "", "", false
	}
	parts := strings.Split(strings.Trim(path.Clean("/"+s.path()), "/"), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if blank.MatchString(parts[i]) {
			return path.Join(parts[:i+1]...), path.Join(parts[i+1:]...), true
		}
	}
	return "", "", false
}

// around are the folders that a file is in, the innermost first.
func around(file string) []string {
	var all []string
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		all = append(all, dir)
	}
	return append(all, ".")
}

// findBlanks finds what beginnings with blanks stand for: the folder around the
// Applications in which the rest of several of their paths is, and of most of them.
func (r *Repository) findBlanks() {
	type paths struct{ found, all map[string]bool }
	counted := map[string]map[string]*paths{}
	first := map[string]finding.Position{}
	each := func(visit func(s source, beginning, rest string, in []string)) {
		for _, app := range slices.Concat(r.applications, r.disabled) {
			for _, s := range app.sources() {
				if beginning, rest, ok := splitBlank(s); ok && rest != "" {
					visit(s, beginning, rest, around(app.position().File))
				}
			}
		}
	}
	each(func(s source, beginning, rest string, in []string) {
		if i := slices.IndexFunc(in, func(dir string) bool { return r.there(path.Join(dir, rest)) }); i >= 0 {
			if counted[beginning] == nil {
				counted[beginning], first[beginning] = map[string]*paths{}, s.position
			}
			if counted[beginning][in[i]] == nil {
				counted[beginning][in[i]] = &paths{map[string]bool{}, map[string]bool{}}
			}
			counted[beginning][in[i]].found[rest] = true
		}
	})
	each(func(_ source, beginning, rest string, in []string) {
		for _, dir := range in {
			if p := counted[beginning][dir]; p != nil {
				p.all[rest] = true
			}
		}
	})
	r.blanks = blanks{}
	for _, beginning := range slices.Sorted(maps.Keys(counted)) {
		var folders []string
		for _, dir := range slices.Sorted(maps.Keys(counted[beginning])) {
			if p := counted[beginning][dir]; len(p.found) >= minSure && len(p.found)*2 >= len(p.all) {
				folders = append(folders, dir)
			}
		}
		if len(folders) == 0 {
			continue
		}
		r.blanks[beginning] = map[string]bool{}
		for _, dir := range folders {
			r.blanks[beginning][dir] = true
		}
		more := ""
		if n := len(folders) - 1; n > 0 {
			more = fmt.Sprintf(", and %s for theirs", finding.Count(n, "more folder"))
		}
		r.moved = append(r.moved, newFinding(RuleAssumed, finding.Info, first[beginning], "",
			"what a tool fills in for %s is taken to be %s for the Applications in it, where the rest of their paths is%s", beginning, folders[0], more))
	}
}

// filled is where a path leads whose beginning a tool fills in.
func (r *Repository) filled(s source) (string, bool) {
	beginning, rest, ok := splitBlank(s)
	if !ok || len(r.blanks[beginning]) == 0 {
		return "", false
	}
	for _, dir := range around(s.position.File) {
		if r.blanks[beginning][dir] {
			p := path.Join(dir, rest)
			return p, r.there(p)
		}
	}
	return "", false
}
