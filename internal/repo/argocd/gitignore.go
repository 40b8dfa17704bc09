package argocd

import (
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// ignoredBy is the line of a .gitignore that keeps a file out of Git.
func (r *Repository) ignoredBy(file string) (finding.Position, bool) {
	parts := strings.Split(file, "/")
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		name := path.Join(dir, ".gitignore")
		data, err := r.tree.Read(name)
		if err != nil {
			data = nil
		}
		var domain []string
		if dir != "." {
			domain = strings.Split(dir, "/")
		}
		// The last line that matches decides.
		lines := strings.Split(string(data), "\n")
		for i, line := range slices.Backward(lines) {
			line = strings.TrimSuffix(line, "\r")
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			switch gitignore.ParsePattern(line, domain).Match(parts, false) {
			case gitignore.Exclude:
				return finding.Position{File: name, Line: i + 1}, true
			case gitignore.Include:
				return finding.Position{}, false
			case gitignore.NoMatch:
			}
		}
		if dir == "." || dir == "/" {
			return finding.Position{}, false
		}
	}
}

// isSource reports whether an Application takes a folder, or a set may generate one that does.
func (r *Repository) isSource(dir string) bool {
	takes := func(d document) bool {
		return slices.ContainsFunc(d.sources(), func(s source) bool { at, ok := r.local(s); return ok && at == dir })
	}
	return slices.ContainsFunc(r.applications, takes) || slices.ContainsFunc(r.sets, func(set document) bool {
		_, item := pattern(set.value.At("spec", "generators"), 0)
		matches, err := path.Match(strings.Trim(item.TextAt("path"), "/"), dir)
		return item != nil && (err != nil || matches)
	})
}
