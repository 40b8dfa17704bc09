package argocd

import (
	"bytes"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/byhand"
	"github.com/rollout-ladder/ladder/internal/repo/installation"
	"github.com/rollout-ladder/ladder/internal/repo/terraform"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// readReleases reads the installations of the chart of Argo CD that Terraform and commands
// make. Where there are some, the files that are no manifests are asked whether they have
// more of it.
func (r *Repository) readReleases(ctx context.Context) error {
	if len(r.applications)+len(r.sets) == 0 {
		return nil
	}
	if err := r.terraformReleases(ctx); err != nil {
		return err
	}
	for _, one := range r.told(ctx).Releases {
		if one.Chart == installation.Chart && len(one.ValueFiles) > 0 {
			r.installation.Release(ofCommand(one))
		}
	}
	for _, one := range r.told(ctx).Instructions {
		r.installation.Applied(one.Address, one.Position)
	}
	if !r.installation.Released() {
		return nil
	}
	for _, file := range r.all {
		if _, ok := slices.BinarySearch(r.manifests, file); ok {
			continue
		}
		if data, err := r.tree.Read(file); err == nil {
			r.installation.Beside(file, data)
		}
	}
	return nil
}

// told is what the files of the repository have people and scripts do.
func (r *Repository) told(ctx context.Context) byhand.Told {
	if r.commands == nil {
		told := byhand.Find(ctx, r.tree)
		r.commands = &told
	}
	return *r.commands
}

// unquoted is a path of values as Helm gets it from a shell.
var unquoted = strings.NewReplacer(`\\.`, `\.`, `"`, "", `'`, "")

// ofCommand is a release that a command of Helm makes.
func ofCommand(one byhand.Release) installation.Release {
	made := installation.Release{Namespace: one.Namespace, Files: one.ValueFiles, Open: one.Partial, Position: one.Position}
	for _, name := range slices.Sorted(maps.Keys(one.Set)) {
		made.Set = append(made.Set, installation.Parameter{Name: unquoted.Replace(name), Value: one.Set[name], Position: one.Position})
	}
	return made
}

// terraformReleases reads those of folders of Terraform.
func (r *Repository) terraformReleases(ctx context.Context) error {
	folders, _ := r.terraformFolders()
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		mentions := func(word string) bool {
			return slices.ContainsFunc(folders[dir], func(f terraform.File) bool { return bytes.Contains(f.Content, []byte(word)) })
		}
		if !mentions("helm_release") || !mentions(installation.Chart) {
			continue
		}
		for _, run := range r.terraformRuns(ctx, dir, folders) {
			found, err := evaluate.Releases(ctx, terraform.OfChart{Folder: terraform.Folder{Files: folders[dir], Variables: run}, Chart: installation.Chart})
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				at := finding.Position{File: folders[dir][0].Path, Line: 1}
				r.installation.Release(installation.Release{Open: true, Position: at})
				break
			}
			for _, one := range found {
				r.installation.Release(ofTerraform(one))
			}
		}
	}
	return nil
}

// ofTerraform is a release that Terraform makes. A text that is no YAML before it is filled
// in may hold anything.
func ofTerraform(one terraform.Release) installation.Release {
	made := installation.Release{Namespace: one.Namespace, Open: one.Open, Position: one.Position}
	for _, v := range one.Values {
		if v.File != "" {
			made.Files = append(made.Files, path.Clean(v.File))
			continue
		}
		documents, err := yamldoc.Parse(v.Position.File, []byte(v.Text))
		made.Open = made.Open || err != nil
		for _, d := range documents {
			made.Values = append(made.Values, d.Located(v.Position))
		}
	}
	for _, p := range one.Set {
		made.Set = append(made.Set, installation.Parameter(p))
	}
	return made
}
