package kustomize

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// maxFolders is how deep manifests are looked for below a folder without a
// kustomization.
const maxFolders = 50

// generate makes a kustomization of the manifests below the folder, where it has none.
// empty is set where there are no manifests. Source: github.com/fluxcd/pkg/kustomize,
// scanManifests.
func (b *build) generate(folder string) (empty bool, err error) {
	if own, err := kustomizationOf(b.files.view, folder); own != "" || err != nil {
		return false, err
	}
	var above unfetched
	for dir := range parents(folder) {
		if above, err = b.sourceIgnore(dir, above); err != nil {
			return false, err
		}
	}
	resources, err := b.manifests(folder, "", above, 0)
	if err != nil || len(resources) == 0 {
		return true, err
	}
	data, err := yaml.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources,
	})
	if err != nil {
		return false, source.Errorf(b.src.Position, "%w", err)
	}
	b.files.generated[path.Join(b.root, "kustomization.yaml")] = data
	return false, nil
}

// parents are the folders around a folder, from the top of the repository on.
func parents(folder string) iter.Seq[string] {
	return func(yield func(string) bool) {
		parts := strings.Split(folder, "/")
		for i := range parts {
			if folder != "." && !yield(path.Join(parts[:i]...)) {
				return
			}
		}
	}
}

// manifests lists the files of manifests below a folder, and the folders with a
// kustomization of their own, relative to the first folder.
func (b *build) manifests(folder, below string, left unfetched, depth int) ([]string, error) {
	names, err := b.files.view.List(path.Join(folder, below))
	if err != nil {
		return nil, source.Errorf(b.src.Position, "kustomization %s: %w", b.src.Path, err)
	}
	if left, err = b.sourceIgnore(path.Join(folder, below), left); err != nil {
		return nil, err
	}
	var all []string
	for _, name := range names {
		at := path.Join(below, name)
		switch {
		case slices.Contains(ignored[:], strings.TrimSuffix(name, "/")):
		case left.leavesOut(path.Join(folder, at), strings.HasSuffix(name, "/")):
		case !strings.HasSuffix(name, "/"):
			if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
				all = append(all, at)
			}
		case depth == maxFolders:
			return nil, source.Errorf(b.src.Position, "the folders below %s are nested deeper than %d", b.src.Path, maxFolders)
		default:
			own, err := kustomizationOf(b.files.view, path.Join(folder, at))
			if err != nil {
				return nil, err
			}
			if own != "" && !left.leavesOut(path.Join(folder, at, own), false) {
				all = append(all, at)
				continue
			}
			inside, err := b.manifests(folder, at, left, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, inside...)
		}
	}
	return all, nil
}

// maxPatterns is how many patterns say what Flux does not fetch: each is tried on each
// file.
const maxPatterns = 1000

// unfetched is what Flux does not fetch, by the files .sourceignore. Source: Flux, "Git
// Repositories", ".sourceignore file".
type unfetched struct {
	patterns []gitignore.Pattern
	// again is set where a pattern takes back what others leave out.
	again bool
}

// leavesOut reports whether Flux does not fetch a file. A folder that is left out is not
// looked into, unless something in it may be taken back: Flux asks for each file. Source:
// github.com/fluxcd/pkg/artifact, Storage.Archive.
func (u unfetched) leavesOut(name string, isFolder bool) bool {
	return (!isFolder || !u.again) && gitignore.NewMatcher(u.patterns).Match(strings.Split(name, "/"), isFolder)
}

// sourceIgnore adds what the file .sourceignore of a folder says, in the language of
// .gitignore.
func (b *build) sourceIgnore(folder string, above unfetched) (unfetched, error) {
	file := path.Join(folder, ".sourceignore")
	data, err := b.files.view.Read(file)
	if err != nil {
		return above, nil // there is none
	}
	var domain []string
	if folder != "" && folder != "." {
		domain = strings.Split(folder, "/")
	}
	all := unfetched{slices.Clip(above.patterns), above.again}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(all.patterns) == maxPatterns {
			return above, source.Errorf(b.src.Position, "%s has more than %d patterns, with those above it; use folders instead of single files", file, maxPatterns)
		}
		all.patterns = append(all.patterns, gitignore.ParsePattern(line, domain))
		all.again = all.again || strings.HasPrefix(line, "!")
	}
	return all, nil
}

// ignored are the names that Flux leaves out of what it fetches from Git, as far as
// they can hold YAML. Source: github.com/fluxcd/pkg/sourceignore, ExcludeVCS,
// ExcludeCI and ExcludeExtra.
var ignored = [...]string{
	".git", ".github", ".circleci", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml",
	"codeship-services.yml", "codeship-steps.yml", ".goreleaser.yml", ".sops.yaml", ".flux.yaml",
}

// kustomizationOf is the name of the kustomization of a folder; empty for none.
func kustomizationOf(view source.View, folder string) (string, error) {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		kind, err := view.Stat(path.Join(folder, name))
		if err != nil {
			return "", source.Errorf(finding.Position{}, "kustomization: %w", err)
		}
		if kind == source.File {
			return name, nil
		}
	}
	return "", nil
}
