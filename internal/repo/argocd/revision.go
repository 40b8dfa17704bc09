package argocd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// heads are the revisions that are taken for the one that is checked out.
var heads = []string{"", "HEAD", "main", "master"}

// isHead reports whether a revision is taken for the one that is checked out, whatever else
// the repository asks for.
func isHead(revision string) bool { return slices.Contains(heads, branch(revision)) }

// branch is a revision without the prefix that Git has for branches.
func branch(revision string) string { return strings.TrimPrefix(revision, "refs/heads/") }

// isCheckedOut reports whether a revision of this repository is taken for the one at
// hand: a usual one, or, where no source of it asks for such a one, that which most ask
// for.
func (r *Repository) isCheckedOut(revision string) bool {
	if isHead(revision) || hasPlaceholder(revision) {
		return true
	}
	if !r.asked {
		r.asked, r.checkedOut = true, r.mostAsked()
	}
	return branch(revision) == r.checkedOut
}

// mostAsked is the revision that most sources of this repository ask for; empty where one
// asks for a usual one.
func (r *Repository) mostAsked() string {
	times := map[string]int{}
	for _, d := range slices.Concat(r.applications, r.sets) {
		if template := d.value.At("spec", "template"); d.argo("ApplicationSet") && template != nil {
			d = document{value: template, written: template}
		}
		for _, s := range d.sources() {
			if revision := s.value.TextAt("targetRevision"); s.value.TextAt("chart") == "" && r.own[normaliseURL(s.repoURL())] && !hasPlaceholder(revision) {
				times[branch(revision)]++
			}
		}
	}
	most := ""
	for revision, n := range times {
		if isHead(revision) {
			return ""
		}
		if c := cmp.Compare(n, times[most]); c > 0 || c == 0 && revision < most {
			most = revision
		}
	}
	return most
}

// minBranches is how many Applications take one folder of as many revisions where it holds
// something else in each.
const minBranches = 3

// isOtherTree reports whether a source takes a folder from a revision that holds something else
// in it than this checkout. So it is with branches into which a pipeline renders, each for
// itself: several Applications take one folder, each from a revision of its own, and one of
// them is written in that folder. Read from here, each would apply all of them.
func (r *Repository) isOtherTree(s source, dir string) bool {
	if r.otherTrees == nil {
		r.otherTrees = r.findOtherTrees()
	}
	return r.otherTrees[dir] && !isHead(s.value.TextAt("targetRevision"))
}

func (r *Repository) findOtherTrees() map[string]bool {
	revisions, own := map[string][]string{}, map[string]bool{} // by the folder
	for _, d := range r.applications {
		for _, s := range d.sources() {
			revision := s.value.TextAt("targetRevision")
			if s.path() == "" || s.value.TextAt("chart") != "" || !r.own[normaliseURL(s.repoURL())] {
				continue
			}
			dir, _ := r.existing(r.at(s, s.path()))
			revisions[dir] = append(revisions[dir], branch(revision))
			_, inside := below(dir, d.at("spec").File)
			own[dir] = own[dir] || inside && !isHead(revision)
		}
	}
	others := map[string]bool{}
	for dir, all := range revisions {
		slices.Sort(all)
		if n := len(all); n >= minBranches && len(slices.Compact(all)) == n && own[dir] {
			others[dir] = true
		}
	}
	return others
}

// excuse makes notes of errors in the folder of a parent that takes it from another
// revision, which may have it whole.
func (r *Repository) excuse(d document, found []finding.Finding) {
	for _, s := range d.sources() {
		revision := s.value.TextAt("targetRevision")
		dir, ok := r.local(s)
		if !ok || r.isCheckedOut(revision) {
			continue
		}
		for i, f := range found {
			if _, inside := below(dir, f.Position.File); inside && f.Severity == finding.Error {
				found[i].Severity = finding.Info
				found[i].Message = fmt.Sprintf("the Application %s takes %s from the revision %s, and as it is in this checkout %s", d.name(), dir, revision, f.Message)
			}
		}
	}
}
