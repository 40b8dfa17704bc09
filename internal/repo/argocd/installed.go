package argocd

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/terraform"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// readInstalled reads, once, how Terraform installs the charts of the repository, by their folders.
func (r *Repository) readInstalled(ctx context.Context) map[string][]terraform.Release {
	if r.released != nil {
		return r.released
	}
	r.released = map[string][]terraform.Release{}
	folders, _ := r.terraformFolders()
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if !slices.ContainsFunc(folders[folder], func(f terraform.File) bool { return bytes.Contains(f.Content, []byte("helm_release")) }) {
			continue
		}
		for _, run := range r.terraformRuns(ctx, folder, folders) {
			found, err := evaluate.Releases(ctx, terraform.OfChart{Folder: terraform.Folder{Files: folders[folder], Variables: run}, Local: true})
			if err != nil {
				break // what is wrong with Terraform is nothing of Argo CD's
			}
			for _, one := range found {
				r.released[one.Folder] = append(r.released[one.Folder], one)
			}
		}
	}
	return r.released
}

// installedBy is the source that a chart in a folder is for the Terraform of the repository that
// installs it; nil where none does, several do, or not all of its values are known.
func (r *Repository) installedBy(ctx context.Context, dir string) *model.Source {
	all := r.readInstalled(ctx)[dir]
	if len(all) != 1 {
		return nil
	}
	one := all[0]
	src := model.Source{Kind: model.Chart, Path: dir, ReleaseName: cmp.Or(one.Name, path.Base(dir)), Namespace: one.Namespace, Position: one.Position}
	if one.Open || appset.IsMarked(one.Name+one.Namespace) {
		return nil
	}
	for _, v := range one.Values {
		switch {
		case v.File != "" && src.Values == nil && r.isWhole(path.Clean(v.File)):
			src.ValueFiles = append(src.ValueFiles, model.ValueFile{Path: path.Clean(v.File), Position: v.Position})
		case v.File != "" || src.Values != nil || appset.IsMarked(v.Text):
			return nil // texts before files, or several, are merged by nobody here
		default:
			values, err := yamldoc.ParseOne(v.Position.File, []byte(v.Text))
			if err != nil {
				return nil
			}
			src.Values, _ = values.Any().(map[string]any)
		}
	}
	for _, p := range one.Set {
		if appset.IsMarked(p.Value) {
			return nil
		}
		if src.Parameters == nil {
			src.Parameters = map[string]string{}
		}
		src.Parameters[p.Name] = p.Value
	}
	return &src
}

// isWhole reports whether a file of values is there and holds nothing that Terraform fills in.
func (r *Repository) isWhole(file string) bool {
	data, err := r.tree.Read(file)
	return err == nil && !bytes.Contains(data, []byte("${")) && !bytes.Contains(data, []byte("%{"))
}
