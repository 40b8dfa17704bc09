package helmfile

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// Place is what Helmfile is started with: a folder, and its state files.
type Place struct {
	Path  string
	Files []string
}

// Places finds the state files below a folder by their names, at most depth folders below it, those
// of higher folders first: they may include those below. Folders that nobody applies are left out.
func Places(ctx context.Context, tree *repofs.Tree, below string, depth int) []Place {
	found, _ := tree.FindNear(ctx, below, depth, func(name string) bool {
		ext := path.Ext(strings.TrimSuffix(name, ".gotmpl"))
		return ext == ".yaml" || ext == ".yml"
	})
	places := map[string]*Place{}
	for _, file := range found {
		dir := path.Dir(file)
		whole := slices.Contains([]string{"helmfile.d", "helmfiles"}, path.Base(dir))
		if !whole && !slices.Contains([]string{"helmfile.yaml", "helmfile.yaml.gotmpl"}, path.Base(file)) || repofs.IsUnused(file) {
			continue
		}
		if places[dir] == nil {
			places[dir] = &Place{Path: dir}
		}
		places[dir].Files = append(places[dir].Files, file)
	}
	all := make([]Place, 0, len(places))
	for _, p := range places {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Place) int {
		return cmp.Or(cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")), strings.Compare(a.Path, b.Path))
	})
	return all
}
