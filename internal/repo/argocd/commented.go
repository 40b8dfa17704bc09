package argocd

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// commentedEntry matches an entry of a list that is a comment: "  # - prometheus".
var commentedEntry = lazyregexp.New(`(?m)^[ \t]*#[ \t#]*-[ \t]+["']?([\w./-]+)["']?[ \t]*(?:#.*)?\r?$`)

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
// applies by hand, or what the kustomization around them does not list.
func (r *Repository) choices(ctx context.Context, overlays []string) (taken, left []string) {
	leftOutBy := map[string][]string{}
	var next []string
	for _, dir := range overlays {
		for _, by := range r.commented[dir] {
			leftOutBy[by] = append(leftOutBy[by], dir)
		}
		if len(r.commented[dir]) == 0 {
			next = append(next, dir)
		}
	}
	used, out := map[string]bool{}, map[string]bool{}
	for ; len(next) > 0; next = next[1:] {
		for _, p := range r.closure(next[0]) {
			if used[p] {
				continue
			}
			used[p] = true
			for _, dir := range leftOutBy[p] {
				if !out[dir] {
					out[dir] = true
					left, next = append(left, dir), append(next, dir)
				}
			}
		}
	}
	open := slices.DeleteFunc(slices.Clone(overlays), func(dir string) bool { return out[dir] })
	slices.Sort(left)
	bundle := map[string]bool{}
	takenFrom := r.takenFrom(open)
	for _, dir := range open {
		bundle[dir] = folderEnvironment(dir) == "" && (takenFrom[path.Dir(dir)] > 1 || r.isUnlisted(dir, open)) &&
			!slices.ContainsFunc(r.closure(dir), func(p string) bool { return r.isHanded(ctx, p) })
	}
	for _, dir := range open {
		if bundle[dir] {
			left = append(left, dir)
		} else {
			taken = append(taken, dir)
		}
	}
	return taken, left
}

// isUnlisted reports whether an overlay lies below another one that takes Applications
// beside it, from a folder below its own: it lists what it takes of that folder.
func (r *Repository) isUnlisted(dir string, overlays []string) bool {
	for above, from := path.Dir(dir), dir; above != "."; above, from = path.Dir(above), above {
		if !slices.Contains(overlays, above) {
			continue
		}
		listed := 0
		for _, p := range r.closure(above) {
			if _, beside := below(from, p); beside && slices.ContainsFunc(r.files[p], document.applies) {
				listed++
			}
		}
		if listed > 1 {
			return true
		}
	}
	return false
}

// takenFrom counts, by folder, how often overlays elsewhere take the kustomizations in it,
// as clusters put bundles together. It is none for a folder where one takes another, as
// the overlay of a base does.
func (r *Repository) takenFrom(overlays []string) map[string]int {
	times, within := map[string]int{}, map[string]bool{}
	for _, dir := range overlays {
		for _, p := range r.closure(dir) {
			parent := path.Dir(p)
			if parent == "." || !r.isKustomization(p) {
				continue
			}
			switch _, inside := below(parent, dir); {
			case !inside:
				times[parent]++
			case p != dir:
				within[parent] = true
			}
		}
	}
	maps.DeleteFunc(times, func(parent string, _ int) bool { return within[parent] })
	return times
}
