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

// ignored are the lines of the .gitignore of each folder that was asked for, and how many
// files were.
type ignored struct {
	lines map[string][]ignoredLine
	asked int
}

// ignoredBy is the line of a .gitignore that keeps a file out of Git.
func (r *Repository) ignoredBy(file string) (finding.Position, bool) {
	if r.ignored.asked++; r.ignored.asked > mostAsked {
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
	if all, known := r.ignored.lines[dir]; known {
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
	if r.ignored.lines == nil {
		r.ignored.lines = map[string][]ignoredLine{}
	}
	r.ignored.lines[dir] = all
	return all
}
