package kustomize

import (
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
	if has, err := hasKustomization(b.files.view, folder); has || err != nil {
		return false, err
	}
	var ignores []gitignore.Pattern
	for dir := folder; dir != "."; {
		dir = path.Dir(dir)
		ignores = append(b.sourceIgnore(dir), ignores...)
	}
	resources, err := b.manifests(folder, "", ignores, 0)
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

// manifests lists the files of manifests below a folder, and the folders with a
// kustomization of their own, relative to the first folder.
func (b *build) manifests(folder, below string, ignores []gitignore.Pattern, depth int) ([]string, error) {
	names, err := b.files.view.List(path.Join(folder, below))
	if err != nil {
		return nil, source.Errorf(b.src.Position, "kustomization %s: %w", b.src.Path, err)
	}
	ignores = append(slices.Clip(ignores), b.sourceIgnore(path.Join(folder, below))...)
	matcher := gitignore.NewMatcher(ignores)
	var all []string
	for _, name := range names {
		at := path.Join(below, name)
		switch {
		case slices.Contains(ignored[:], strings.TrimSuffix(name, "/")):
		case matcher.Match(strings.Split(path.Join(folder, at), "/"), strings.HasSuffix(name, "/")):
		case !strings.HasSuffix(name, "/"):
			if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
				all = append(all, at)
			}
		case depth == maxFolders:
			return nil, source.Errorf(b.src.Position, "the folders below %s are nested deeper than %d", b.src.Path, maxFolders)
		default:
			own, err := hasKustomization(b.files.view, path.Join(folder, at))
			if err != nil {
				return nil, err
			}
			if own {
				all = append(all, at)
				continue
			}
			inside, err := b.manifests(folder, at, ignores, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, inside...)
		}
	}
	return all, nil
}

// sourceIgnore reads which files below a folder Flux does not fetch, as the file
// .sourceignore there says it in the language of .gitignore. Source: Flux, "Git
// Repositories", ".sourceignore file".
func (b *build) sourceIgnore(folder string) []gitignore.Pattern {
	data, err := b.files.view.Read(path.Join(folder, ".sourceignore"))
	if err != nil {
		return nil // there is none
	}
	var domain []string
	if folder != "" && folder != "." {
		domain = strings.Split(folder, "/")
	}
	var all []gitignore.Pattern
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, gitignore.ParsePattern(line, domain))
		}
	}
	return all
}

// ignored are the names that Flux leaves out of what it fetches from Git, as far as
// they can hold YAML. Source: github.com/fluxcd/pkg/sourceignore, ExcludeVCS,
// ExcludeCI and ExcludeExtra.
var ignored = [...]string{
	".git", ".github", ".circleci", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml",
	"codeship-services.yml", "codeship-steps.yml", ".goreleaser.yml", ".sops.yaml", ".flux.yaml",
}

func hasKustomization(view source.View, folder string) (bool, error) {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		kind, err := view.Stat(path.Join(folder, name))
		if err != nil {
			return false, source.Errorf(finding.Position{}, "kustomization: %w", err)
		}
		if kind == source.File {
			return true, nil
		}
	}
	return false, nil
}
