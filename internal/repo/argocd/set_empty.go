package argocd

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// makesNothing tells of a set whose git generators find nothing, so that its Applications
// are missing without a word. Whether somebody still applies the set, or another branch
// has the folder, is not known: it is information.
func (r *Repository) makesNothing(set document) {
	git, item := pattern(set.value.At("spec", "generators"), 0)
	if item == nil {
		return
	}
	written := item.TextAt("path")
	what, near := "nothing in this repository matches "+written, ""
	if folder := literal(written); folder != "" && !slices.ContainsFunc(r.paths, func(file string) bool { return strings.HasPrefix(file, folder) }) {
		what = "there is no folder " + folder + " for " + written
		if r.isOwnHead(git) {
			near = r.nearFolder(folder)
		}
	}
	f := newFinding(RuleMissing, finding.Info, set.position(), set.name(), "the ApplicationSet %s generates no Application: %s", set.name(), what)
	f.Fix.Summary = "correct the path, or remove the set"
	if near != "" {
		f.Severity = finding.Warning
		f.Message += "; there is a folder " + near
		f.Fix.Summary = "write " + near + ", or remove the set"
	}
	if excludes(set.value.At("spec", "generators"), 0) && r.matchesAny(written) {
		f.Message = "the ApplicationSet " + set.name() + " generates no Application: what matches " + written + " is excluded"
		f.Fix.Summary = ""
	}
	r.findings = append(r.findings, f)
}

// nearFolder is the folder of the repository that a folder which is not there most likely
// means: one part of its path differs by a slip of the pen. It is empty where there are
// none or several.
func (r *Repository) nearFolder(folder string) string {
	folder = strings.Trim(folder, "/")
	found := ""
	for _, file := range r.paths {
		near := isNear(folder, path.Dir(file))
		if near != "" && found != "" && near != found {
			return ""
		}
		found = cmp.Or(found, near)
	}
	for _, set := range r.sets {
		if _, item := pattern(set.value.At("spec", "generators"), 0); item != nil && strings.Trim(literal(item.TextAt("path")), "/") == found {
			return "" // it has a set of its own
		}
	}
	return found
}

// isNear gives the top of a path that has as many parts as a folder, where just one of them
// differs by a slip.
func isNear(folder, dir string) string {
	slips, end := 0, 0
	for folder != "" {
		part, rest, _ := strings.Cut(folder, "/")
		have, _, more := strings.Cut(dir[end:], "/")
		if part != have {
			if slips++; slips > 1 || !isSlip(part, have) {
				return ""
			}
		}
		folder, end = rest, end+len(have)
		if folder != "" && !more {
			return ""
		}
		if folder != "" {
			end++
		}
	}
	if slips == 0 {
		return ""
	}
	return dir[:end]
}

// isSlip reports whether two names of folders differ by a letter that is missing, or by two
// that are swapped. Short ones, another letter, and numbers tell things apart on purpose.
func isSlip(a, b string) bool {
	if min(len(a), len(b)) < shortestFolder || a[0] != b[0] {
		return false
	}
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return !strings.ContainsAny(a+b, "0123456789") && (len(a)+len(b) == 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0])
}

// shortestFolder is the shortest name of a folder that is compared with others.
const shortestFolder = 4

// excludes reports whether a git generator leaves out some of what it finds.
func excludes(generators *yamldoc.Value, depth int) bool {
	return depth <= deepest && slices.ContainsFunc(generators.Elements(), func(g *yamldoc.Value) bool {
		left := func(item *yamldoc.Value) bool { return item.TextAt("exclude") == "true" }
		return slices.ContainsFunc(g.At("git", "directories").Elements(), left) || slices.ContainsFunc(g.At("git", "files").Elements(), left) ||
			excludes(g.At("matrix", "generators"), depth+1) || excludes(g.At("merge", "generators"), depth+1)
	})
}

// matchesAny reports whether a pattern of a git generator matches a folder of the repository,
// or a file where it ends as one does.
func (r *Repository) matchesAny(pattern string) bool {
	pattern = strings.Trim(path.Clean("/"+pattern), "/")
	return slices.ContainsFunc(r.paths, func(file string) bool {
		at := file
		if path.Ext(pattern) == "" {
			at = path.Dir(file)
		}
		for ; at != "."; at = path.Dir(at) {
			if ok, err := path.Match(pattern, at); ok && err == nil {
				return true
			}
		}
		return false
	})
}

// makesLess tells of the folders that a set names beside others, and that are not there:
// Argo CD passes over them without a word. Another branch may have them.
func (r *Repository) makesLess(set document, generators *yamldoc.Value, depth int) {
	if depth > deepest {
		return
	}
	for _, g := range generators.Elements() {
		for _, key := range []string{"matrix", "merge"} {
			r.makesLess(set, g.At(key, "generators"), depth+1)
		}
		git := g.At("git")
		if !r.isOwnHead(git) {
			continue
		}
		there := false
		var missing []*yamldoc.Value
		for _, item := range git.At("directories").Elements() {
			p := item.TextAt("path")
			if p == "" || strings.ContainsAny(p, "*?[{\\$") || item.TextAt("exclude") == "true" {
				continue
			}
			folder := strings.Trim(path.Clean("/"+p), "/") + "/"
			if slices.ContainsFunc(r.paths, func(file string) bool { return strings.HasPrefix(file, folder) }) {
				there = true
			} else {
				missing = append(missing, item)
			}
		}
		for _, item := range missing {
			if !there {
				break
			}
			f := newFinding(RuleMissing, finding.Warning, item.At("path").Position, set.name(), "the folder %s that the ApplicationSet %s names does not exist: it generates no Application for it", item.TextAt("path"), set.name())
			f.Fix.Summary = "correct the path, or take it away"
			r.findings = append(r.findings, f)
		}
	}
}

// deepest bounds how far generators are nested.
const deepest = 4

// isOwnHead reports whether a git generator reads this repository as it is here, as far as
// its revision tells.
func (r *Repository) isOwnHead(git *yamldoc.Value) bool {
	return r.own[normaliseURL(git.TextAt("repoURL"))] && slices.Contains([]string{"", "HEAD", "main", "master"}, git.TextAt("revision"))
}

// pattern is the first path that a git generator looks for, with the generator.
func pattern(generators *yamldoc.Value, depth int) (git, item *yamldoc.Value) {
	if depth > deepest {
		return nil, nil
	}
	for _, g := range generators.Elements() {
		for _, key := range []string{"directories", "files"} {
			for _, item := range g.At("git", key).Elements() {
				if p := item.TextAt("path"); p != "" && item.TextAt("exclude") != "true" && !strings.Contains(p, "{{") {
					return g.At("git"), item
				}
			}
		}
		for _, key := range []string{"matrix", "merge"} {
			if git, item := pattern(g.At(key, "generators"), depth+1); item != nil {
				return git, item
			}
		}
	}
	return nil, nil
}

// literal is the folder of a pattern before its first sign, with a slash at its end;
// empty where there is none.
func literal(p string) string {
	p = path.Clean(strings.TrimPrefix(p, "/"))
	if i := strings.IndexAny(p, "*?[{\\"); i >= 0 {
		p = p[:i]
	}
	i := strings.LastIndex(p, "/")
	return p[:i+1]
}
