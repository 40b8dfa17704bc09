package argocd

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/byhand"
)

var (
	// exampleFolder matches a path in a folder of examples, or of documents.
	exampleFolder = lazyregexp.New(`(?i)(?:^|/)(?:examples?|samples?)/|^docs?/`)
	// documents matches a path in a folder of documents.
	documents = lazyregexp.New(`(?i)^docs?/`)
)

func isExample(file string) bool { return exampleFolder.MatchString(file) }

// withoutExamples leaves roots out that lie in a folder of examples and that no script
// applies, where there are others. Charts among examples are looked at on their own.
func (r *Repository) withoutExamples(ctx context.Context, roots []entry) []entry {
	example := func(e entry) bool {
		if e.chart.dir != "" {
			return documents.MatchString(e.chart.dir + "/")
		}
		return isExample(e.file()+"/") && !slices.ContainsFunc(r.closure(e.file()), func(p string) bool { return r.isHanded(ctx, p) })
	}
	if !slices.ContainsFunc(roots, func(e entry) bool { return e.chart.dir == "" && !isExample(e.file()+"/") }) {
		return roots
	}
	return slices.DeleteFunc(roots, func(e entry) bool {
		left := example(e)
		switch {
		case !left, e.chart.dir != "":
		case e.folder == "":
			r.unused = append(r.unused, e.document)
		default:
			for _, p := range r.closure(e.folder) {
				r.unused = append(r.unused, slices.DeleteFunc(slices.Clone(r.files[p]), func(d document) bool { return !isExample(d.position().File) })...)
			}
		}
		return left
	})
}

// handed are the files that scripts of the repository apply, and those that documents
// show how to, with the first command of each.
func (r *Repository) handed(ctx context.Context) map[string]finding.Position {
	if r.byScript == nil {
		told := r.told(ctx)
		r.byScript, r.noted, r.scripted, r.ran = map[string]finding.Position{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
		r.chosen = map[string]finding.Position{}
		for _, one := range slices.Backward(told.Chosen) {
			r.chosen[one.Address] = one.Position
		}
		note := func(one byhand.Instruction) {
			if _, known := r.byScript[one.Address]; !known {
				r.byScript[one.Address] = one.Position
			}
		}
		for _, one := range told.Files {
			note(one)
			r.ran[one.Address] = true
			r.scripted[one.Address] = r.scripted[one.Address] || one.Through == one.Address
		}
		for _, one := range told.Shown {
			if !isExample(one.Address) { // what a document applies of it is one
				note(one)
			}
		}
		for _, one := range told.Noted {
			r.noted[one.Address] = true
		}
	}
	return r.byScript
}

func (r *Repository) isHanded(ctx context.Context, file string) bool {
	_, ok := r.handed(ctx)[file]
	return ok
}

// appliedAt is where a command applies a file, or one that it chooses by a variable and that the file may be.
func (r *Repository) appliedAt(ctx context.Context, file string) (finding.Position, bool) {
	at, ok := r.handed(ctx)[file]
	if !ok {
		at, ok = r.chosen[file]
	}
	return at, ok
}

// isNamed reports whether a comment of a kustomization has people apply a file, or a script
// applies it by its name: whatever the kustomization of its folder has.
func (r *Repository) isNamed(ctx context.Context, file string) bool {
	r.handed(ctx)
	return r.noted[file] || r.scripted[file]
}

// applyByHand gives the Applications that a command in the repository applies to the
// environment whose roots lie nearest, and returns the others. One of a name that is
// applied already is an alternative, and so is one that several environments may have, or
// that a kustomization decides on and does not say to be applied apart from it.
func (r *Repository) applyByHand(ctx context.Context, all []Environment, single []document) []document {
	if len(single) == 0 || len(all) == 0 {
		return single
	}
	return slices.DeleteFunc(single, func(app document) bool {
		file := app.position().File
		if !r.isHanded(ctx, file) || !r.neighbours[app.key()] && !r.isNamed(ctx, file) {
			return false
		}
		near := nearest(all, app)
		if len(near) != 1 {
			return false
		}
		e := &all[near[0]]
		e.roots = append(e.roots, entry{document: app, byHand: true})
		return true
	})
}

// applyApart gives the Applications that scripts of the repository apply, and that are left out
// for the name of one in another environment, to the environment whose roots lie nearest. Of
// those that lie in other folders than all roots it makes environments: one script is for one,
// unless the folders that it applies hold alternatives. It returns the others of what nothing
// applies.
func (r *Repository) applyApart(ctx context.Context, all []Environment, single []document) (apart []Environment, rest []document, err error) {
	if len(all) < 2 {
		return nil, single, nil
	}
	commands := r.handed(ctx)
	handed, names := map[string][]document{}, map[int]map[string]document{}
	take := func(app document) bool {
		file := app.position().File
		if !r.ran[file] || path.Dir(file) == "." || err != nil {
			return false
		}
		switch near := nearest(all, app); len(near) {
		case len(all):
			handed[commands[file].File] = append(handed[commands[file].File], app)
			return true
		case 1:
			if names[near[0]] == nil {
				names[near[0]], err = r.namesOf(ctx, all[near[0]])
			}
			if _, have := names[near[0]][app.name()]; have || err != nil {
				return false
			}
			all[near[0]].roots = append(all[near[0]].roots, entry{document: app, byHand: true})
			names[near[0]][app.name()] = app
			return true
		}
		return false
	}
	single, r.leftOut = slices.DeleteFunc(single, take), slices.DeleteFunc(r.leftOut, take)
	for _, script := range slices.Sorted(maps.Keys(handed)) {
		own, n, err := r.sameCluster(ctx, all, handed[script])
		if err != nil {
			return nil, nil, err
		}
		if n >= 0 {
			for _, app := range own {
				all[n].roots = append(all[n].roots, entry{document: app, byHand: true})
			}
			continue
		}
		of := r.groupSingle(handed[script], 0)
		if len(of) == 1 {
			of[0].Name, _, _ = strings.Cut(handed[script][0].position().File, "/")
		}
		apart = append(apart, of...)
	}
	return apart, single, err
}

// sameCluster finds the environment whose cluster a script is for that applies some Applications:
// the only one that has one of them to the last field. It returns the others, and -1 for none.
func (r *Repository) sameCluster(ctx context.Context, all []Environment, apps []document) (others []document, n int, err error) {
	n = -1
	for i, e := range all {
		names, err := r.namesOf(ctx, e)
		if err != nil {
			return nil, -1, err
		}
		equal := func(app document) bool {
			have, ok := names[app.name()]
			return ok && fmt.Sprint(have.value.At("spec").Any()) == fmt.Sprint(app.value.At("spec").Any())
		}
		if !slices.ContainsFunc(apps, equal) {
			continue
		}
		if n >= 0 {
			return nil, -1, nil
		}
		n = i
		others = slices.DeleteFunc(slices.Clone(apps), func(app document) bool {
			_, have := names[app.name()]
			return have
		})
	}
	return others, n, nil
}

// namesOf are the Applications of an environment by their names.
func (r *Repository) namesOf(ctx context.Context, e Environment) (map[string]document, error) {
	all := map[string]document{}
	for _, root := range e.roots {
		names, err := r.names(ctx, root)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, names)
		if root.document.value != nil {
			all[root.document.name()] = root.document
		}
	}
	return all, nil
}
