package argocd

import (
	"context"
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
		if by := path.Dir(file); !slices.Contains(r.commented[p], by) && (r.tree.IsDir(p) || r.tree.IsFile(p)) {
			r.commented[p] = append(r.commented[p], by)
		}
	}
}

// choices parts overlays from those that are not taken: a kustomization in use leaves them
// out by a comment, or only such a one, or they are bundles that nobody takes or
// applies by hand.
func (r *Repository) choices(ctx context.Context, overlays []string) (taken, left []string) {
	used := map[string]bool{}
	use := func(dir string) {
		for _, p := range r.closure(dir) {
			used[p] = true
		}
	}
	open := slices.Clone(overlays)
	for _, dir := range overlays {
		if len(r.commented[dir]) == 0 {
			use(dir)
		}
	}
	for before := -1; before != len(left); {
		before = len(left)
		open = slices.DeleteFunc(open, func(dir string) bool {
			out := slices.ContainsFunc(r.commented[dir], func(by string) bool { return used[by] })
			if out {
				left = append(left, dir)
				use(dir)
			}
			return out
		})
	}
	slices.Sort(left)
	var bundles []string
	for _, dir := range open {
		if r.isBundle(dir, open) && !slices.ContainsFunc(r.closure(dir), func(p string) bool { return r.handed(ctx)[p] }) {
			bundles = append(bundles, dir)
		}
	}
	open = slices.DeleteFunc(open, func(dir string) bool { return slices.Contains(bundles, dir) })
	return open, append(left, bundles...)
}

// isBundle reports whether an overlay lies among bundles that overlays elsewhere put
// together, such as clusters: those beside it are taken more than once, and it takes none
// of them, as the overlay of a base does.
func (r *Repository) isBundle(dir string, overlays []string) bool {
	parent := path.Dir(dir)
	if parent == "." || folderEnvironment(dir) != "" {
		return false
	}
	times := 0
	for _, other := range overlays {
		_, within := below(parent, other)
		for _, p := range r.closure(other) {
			switch {
			case path.Dir(p) != parent || !r.isKustomization(p):
			case !within:
				times++
			case p != other:
				return false
			}
		}
	}
	return times > 1
}
