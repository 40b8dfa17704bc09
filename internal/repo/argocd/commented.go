package argocd

import (
	"path"
	"regexp"
	"slices"
)

// commentedEntry matches an entry of a list that is a comment: "  # - prometheus".
var commentedEntry = regexp.MustCompile(`(?m)^[ \t]*#[ \t#]*-[ \t]+["']?([\w./-]+)["']?[ \t]*(?:#.*)?\r?$`)

// maxCommented is how many entries of one kustomization are looked for: each is asked of
// the file system.
const maxCommented = 1000

// noteCommented notes what a kustomization leaves out by a comment.
func (r *Repository) noteCommented(file string, data []byte) {
	for _, m := range commentedEntry.FindAllSubmatch(data, maxCommented) {
		p := path.Join(path.Dir(file), string(m[1]))
		if r.commented[p] == "" && (r.tree.IsDir(p) || r.tree.IsFile(p)) {
			r.commented[p] = path.Dir(file)
		}
	}
}

// choices parts overlays from those that a kustomization which others use leaves out by
// a comment: the choices not taken.
func (r *Repository) choices(overlays []string) (taken, left []string) {
	for _, dir := range overlays {
		if r.commented[dir] == "" {
			taken = append(taken, dir)
		}
	}
	for _, dir := range overlays {
		by := r.commented[dir]
		switch {
		case by == "":
		case slices.ContainsFunc(taken, func(other string) bool { return slices.Contains(r.closure(other), by) }):
			left = append(left, dir)
		default:
			taken = append(taken, dir)
		}
	}
	slices.Sort(taken)
	return taken, left
}
