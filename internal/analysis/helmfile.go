package analysis

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/repo/byhand"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

const (
	// mostHelmfiles is how many places of state files are read.
	mostHelmfiles = 10
	// helmfileTime is how much CPU time the state files of one place may take.
	helmfileTime = 2 * time.Second
)

// helmfilesOf reads the Helmfiles of a repository when they are first asked for, once for
// all environments. What cannot be read says nothing.
func helmfilesOf(ctx context.Context, tree *repofs.Tree) func() []*helmfile.Result {
	return sync.OnceValue(func() []*helmfile.Result {
		var all []*helmfile.Result
		seen := map[string]bool{}
		for _, start := range helmfilesOfRepository(ctx, tree) {
			// What another state file includes has been read with it.
			if len(all) == mostHelmfiles || ctx.Err() != nil || slices.ContainsFunc(start.Files, func(f string) bool { return seen[f] }) {
				continue
			}
			result, err := evaluate.Helmfile(ctx, tree, helmfile.Options{Path: start.Path}, helmfileTime)
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
}

// installedByHelmfile are the releases that Helmfiles install in an environment, those
// after Argo CD where they install that.
func installedByHelmfile(read func() []*helmfile.Result, environment string) []lint.Release {
	var all []lint.Release
	for _, result := range read() {
		all = append(all, releasesOf(result, environment)...)
	}
	return all
}

// installedByHand visits the releases of the state files that commands in the repository give to
// Helmfile.
func installedByHand(ctx context.Context, tree *repofs.Tree, commands []byhand.Helmfile, visit func(r *helmfile.Release)) {
	type asked struct{ path, environment string }
	seen := map[asked]bool{}
	for _, command := range commands {
		// A variable of a shell may be any environment.
		this := asked{command.Path, command.Environment}
		if seen[this] || len(seen) >= mostHelmfiles || ctx.Err() != nil {
			continue
		}
		seen[this] = true
		options := helmfile.Options{Path: command.Path, Environments: []string{cmp.Or(command.Environment, helmfile.DefaultEnvironment)}}
		if strings.ContainsAny(command.Environment, "${") {
			options.Environments = nil
		}
		result, err := evaluate.Helmfile(ctx, tree, options, helmfileTime)
		var ended *confine.LimitError
		if errors.As(err, &ended) {
			return // as above
		}
		if err != nil {
			continue
		}
		for _, env := range result.Environments {
			for i := range env.Releases {
				if r := &env.Releases[i]; r.Installed && r.KubeContext == "" {
					visit(r)
				}
			}
		}
	}
}

// beforeArgo visits the releases of all environments that Helmfiles install before Argo CD or Flux.
func beforeArgo(read func() []*helmfile.Result, visit func(r *helmfile.Release)) {
	for _, result := range read() {
		for _, env := range result.Environments {
			argo := rankOfArgo(result, env.Releases)
			for i := range env.Releases {
				if r := &env.Releases[i]; r.Installed && r.KubeContext == "" && result.Groups[r.Group].Rank <= argo {
					visit(r)
				}
			}
		}
	}
}

// deployers are the charts of what goes on where Helmfile ends: Argo CD, and Flux.
var deployers = []string{"argo-cd", "flux-instance", "flux-operator", "flux2"}

// rankOfArgo is when Helmfile installs Argo CD, or Flux, -1 where it does not.
func rankOfArgo(result *helmfile.Result, releases []helmfile.Release) int {
	argo := -1
	for i := range releases {
		if slices.Contains(deployers, chartOf(&releases[i])) {
			argo = max(argo, result.Groups[releases[i].Group].Rank)
		}
	}
	return argo
}

// nearTop is how many folders below the top of a repository Helmfiles are looked for outside the
// platform: 15 of 17 public repositories that hold one have it there. Looking through all folders
// takes a fifth of the time of lint of examples/ameide in a clone of this project.
const nearTop = 3

// helmfilesOfRepository finds the state files of the platform, and those near the top of the
// repository that it is a part of, these first.
func helmfilesOfRepository(ctx context.Context, tree *repofs.Tree) []helmfile.Place {
	var outside []helmfile.Place
	if top := tree.Rel(tree.Repository); top != "." {
		outside = slices.DeleteFunc(helmfile.Places(ctx, tree, top, nearTop), func(p helmfile.Place) bool {
			return filepath.IsLocal(tree.Rel(filepath.Join(tree.Root, p.Path)))
		})
	}
	return slices.Concat(outside, helmfile.Places(ctx, tree, ".", math.MaxInt))
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
		argo := rankOfArgo(result, env.Releases)
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
