package analysis

import (
	"cmp"
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

const (
	// mostHelmfiles is how many places of state files are read.
	mostHelmfiles = 10
	// helmfileTime is how much CPU time the state files of one place may take.
	helmfileTime = 2 * time.Second
)

// installedByHelmfile answers which releases the Helmfiles of a repository install in an
// environment. They are read when it is first asked, once for all environments. What
// cannot be read says nothing.
func installedByHelmfile(ctx context.Context, tree *repofs.Tree) func(environment string) []lint.Release {
	read := sync.OnceValue(func() []*helmfile.Result {
		var all []*helmfile.Result
		seen := map[string]bool{}
		for _, start := range helmfilePlaces(ctx, tree) {
			// What another state file includes has been read with it.
			if len(all) == mostHelmfiles || ctx.Err() != nil || slices.ContainsFunc(start.files, func(f string) bool { return seen[f] }) {
				continue
			}
			result, err := evaluate.Helmfile(ctx, tree, helmfile.Options{Path: start.path}, helmfileTime)
			var ended *confine.LimitError
			if errors.As(err, &ended) {
				break // a second one of its kind would cost as much
			}
			if err != nil {
				continue
			}
			for _, file := range result.Files {
				seen[file] = true
			}
			all = append(all, result)
		}
		return all
	})
	return func(environment string) []lint.Release {
		var all []lint.Release
		for _, result := range read() {
			all = append(all, releasesOf(result, environment)...)
		}
		return all
	}
}

// helmfilePlace is what Helmfile is started with.
type helmfilePlace struct {
	path  string
	files []string
}

// helmfilePlaces finds the state files of the whole repository, those of higher folders
// first: they may include those below.
func helmfilePlaces(ctx context.Context, tree *repofs.Tree) []helmfilePlace {
	top, err := filepath.Rel(tree.Root, tree.Repository)
	if err != nil {
		return nil
	}
	top = filepath.ToSlash(top)
	found, _ := tree.Find(ctx, top, func(name string) bool {
		ext := path.Ext(strings.TrimSuffix(name, ".gotmpl"))
		return ext == ".yaml" || ext == ".yml"
	})
	places := map[string]*helmfilePlace{}
	for _, file := range found {
		dir := path.Dir(file)
		whole := slices.Contains([]string{"helmfile.d", "helmfiles"}, path.Base(dir))
		if !whole && !slices.Contains([]string{"helmfile.yaml", "helmfile.yaml.gotmpl"}, path.Base(file)) || repofs.IsUnused(file) {
			continue
		}
		if places[dir] == nil {
			places[dir] = &helmfilePlace{path: dir}
		}
		places[dir].files = append(places[dir].files, file)
	}
	all := make([]helmfilePlace, 0, len(places))
	for _, p := range places {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b helmfilePlace) int {
		return cmp.Or(cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")), strings.Compare(a.path, b.path))
	})
	return all
}

// releasesOf are the releases of an environment that come after Argo CD, if Helmfile
// installs that.
func releasesOf(result *helmfile.Result, environment string) []lint.Release {
	var all []lint.Release
	for _, env := range result.Environments {
		alone := len(result.Environments) == 1 && env.Name == helmfile.DefaultEnvironment
		if env.Name != environment && !alone {
			continue
		}
		argo := -1
		for _, r := range env.Releases {
			if chartOf(&r) == "argo-cd" {
				argo = max(argo, result.Groups[r.Group].Rank)
			}
		}
		for _, r := range env.Releases {
			if r.Installed && r.Namespace != "" && r.KubeContext == "" && result.Groups[r.Group].Rank > argo {
				all = append(all, lint.Release{Name: r.Name, Namespace: r.Namespace, Chart: chartOf(&r), Position: r.Position})
			}
		}
	}
	return all
}

// chartOf is the name of the chart of a release.
func chartOf(r *helmfile.Release) string { return path.Base(cmp.Or(r.ChartName, r.Dir)) }
