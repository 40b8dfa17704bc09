package argocd

import (
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// The most lines of one .gitignore that are read, and the most files that are looked up.
const (
	mostIgnored = 500
	mostAsked   = 200
)

// ignoredLine is a line of a .gitignore.
type ignoredLine struct {
	gitignore.Pattern
	at finding.Position
}

// ignoredBy is the line of a .gitignore that keeps a file out of Git.
func (r *Repository) ignoredBy(file string) (finding.Position, bool) {
	if r.askedIgnored++; r.askedIgnored > mostAsked {
		return finding.Position{}, false
	}
	parts := strings.Split(file, "/")
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		// The last line that matches decides.
		for _, line := range slices.Backward(r.ignoredIn(dir)) {
			switch line.Match(parts, false) {
			case gitignore.Exclude:
				return line.at, true
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

// ignoredIn are the lines of the .gitignore of a folder.
func (r *Repository) ignoredIn(dir string) []ignoredLine {
	if all, known := r.ignored[dir]; known {
		return all
	}
	var all []ignoredLine
	name := path.Join(dir, ".gitignore")
	if data, err := r.tree.Read(name); err == nil {
		var domain []string
		if dir != "." {
			domain = strings.Split(dir, "/")
		}
		n := 0
		for line := range strings.SplitSeq(string(data), "\n") {
			n++
			if line = strings.TrimSuffix(line, "\r"); line != "" && !strings.HasPrefix(line, "#") && len(all) < mostIgnored {
				all = append(all, ignoredLine{gitignore.ParsePattern(line, domain), finding.Position{File: name, Line: n}})
			}
		}
	}
	if r.ignored == nil {
		r.ignored = map[string][]ignoredLine{}
	}
	r.ignored[dir] = all
	return all
}
