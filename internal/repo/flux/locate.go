package flux

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// syncFile is the file that flux bootstrap writes the start of a cluster into.
const syncFile = "gotk-sync.yaml"

// declared is the folder that a Kustomization applies, as it is written in a file.
type declared struct {
	file, path string
	position   finding.Position
}

// findTop finds what the paths of Kustomizations are relative to. Flux takes them from the top
// of the repository, so that it lies above a platform that is a part of it: where a path leads to
// nothing below the platform, and the paths that lead anywhere all do from there.
func (l *loader) findTop(s *searched) {
	l.top = "."
	for above := l.tree.Rel(l.tree.Repository); strings.HasPrefix(above, ".."); above = path.Dir(above) {
		needed, all := false, true
		for _, d := range s.declared {
			_, below := l.baseFor(d.file, d.path)
			switch there := l.tree.IsDir(l.placeOf(above, d.path)); {
			case there && !below:
				needed = true
			case !there && below:
				all = false
			}
		}
		if needed && all {
			l.top = above
			return
		}
	}
}

// at is a path that is relative to a base; "." is the top of what Flux reads.
func (l *loader) at(base, p string) string {
	if base == "." {
		return l.placeOf(l.top, p)
	}
	return path.Join(base, p)
}

// placeOf is a path from a folder that may lie above the platform. Below the platform a path has
// one name only.
func (l *loader) placeOf(dir, p string) string {
	if !strings.HasPrefix(dir, "..") {
		return path.Join(dir, p)
	}
	return l.tree.Rel(filepath.Join(l.tree.Root, filepath.FromSlash(dir), filepath.FromSlash(p)))
}

// baseOf finds the folder that a path must be relative to, to hold dir: "." or one above
// dir. A folder of the repository may become the top of another one.
func (l *loader) baseOf(dir, p string) (base string, ok bool) {
	if within(dir, l.at(".", p)) {
		return ".", true
	}
	for base = dir; base != "."; base = path.Dir(base) {
		if p != "." && within(dir, path.Join(base, p)) {
			return base, true
		}
	}
	return "", false
}

// baseFor is the folder that a path written in a file is relative to: the top of the
// repository, or else the nearest one above the file that holds it.
func (l *loader) baseFor(file, p string) (base string, ok bool) {
	if l.tree.IsDir(l.at(".", p)) {
		return ".", true
	}
	for base = path.Dir(file); base != "."; base = path.Dir(base) {
		if l.tree.IsDir(path.Join(base, p)) {
			return base, true
		}
	}
	return "", false
}

// locate finds the folders that are said to be synced or applied: from the top of the
// repository, or from a folder above what says so, where only that folder is packed and
// synced. What is nowhere is no start.
func (l *loader) locate(s *searched) error {
	for _, d := range s.declared {
		p := d.path
		if base, ok := l.baseFor(d.file, p); ok {
			p = l.at(base, p)
		}
		s.applied = append(s.applied, p)
	}
	var found []rootFolder
	for _, r := range s.starts {
		if r.guessed && l.isOfAnother(s.sources[key("GitRepository", "", r.source)].address) {
			continue
		}
		if r.base == "" {
			holds, ok := l.baseOf(path.Dir(r.position.File), r.path)
			if !ok || holds != "." && r.guessed {
				continue
			}
			r.base = holds
		}
		base, ok := l.baseFor(r.position.File, r.path)
		// A copy elsewhere of the start of a cluster is no second cluster.
		if !ok || r.base != "." && base == "." {
			continue
		}
		r.base, r.path = base, l.at(base, r.path)
		found = append(found, r)
	}
	certain := slices.ContainsFunc(found, func(r rootFolder) bool { return !r.guessed })
	s.starts = nil
	for _, r := range found {
		if r.guessed && certain {
			applies, err := l.applies(r)
			if err != nil {
				return err
			}
			if !applies {
				continue
			}
		}
		s.starts = append(s.starts, r)
	}
	return nil
}

// applies reports whether a folder takes the file that names it: where its own
// kustomization leaves that out, something else applies it, or nothing does.
func (l *loader) applies(r rootFolder) (bool, error) {
	file := l.kustomizationFile(r.path)
	if file == "" {
		return true, nil
	}
	before := len(l.result.Problems)
	listed, err := l.listed(r.path, map[string]bool{}, 0)
	l.result.Problems = l.result.Problems[:before] // whoever reads the folder tells of them
	return slices.Contains(listed, r.position.File), err
}

// rebase finds what the paths below guessed roots are relative to: a folder above the
// root, where that holds all that are anywhere and the top of the repository none.
func (l *loader) rebase(s *searched) {
	for i := range s.found {
		r := &s.found[i]
		if !r.guessed || r.base != "." {
			continue
		}
		base := ""
		for _, d := range s.declared {
			if !within(path.Dir(d.file), r.path) {
				continue
			}
			b, ok := l.baseFor(d.file, d.path)
			switch {
			case !ok:
			case base == "" && within(r.path, b):
				base = b
			case b != base:
				base = "."
			}
		}
		if base != "" {
			r.base = base
		}
	}
}

// rename gives clusters other names than those that are taken.
func (s *searched) rename(taken []string) {
	for i := range s.found {
		for slices.Contains(taken, s.found[i].name) {
			s.found[i].name = "flux-" + s.found[i].name
		}
	}
}

// withoutTemplates leaves folders out that are copied to make clusters, unless there are
// no others.
func withoutTemplates(all []string) []string {
	kept := slices.DeleteFunc(slices.Clone(all), func(dir string) bool {
		return slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
			return part == "template" || part == "templates" || strings.HasSuffix(part, "-template")
		})
	})
	if len(kept) == 0 {
		return all
	}
	return kept
}
