package byhand

import (
	"cmp"
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// kustomization is what one kustomization names.
type kustomization struct {
	// here are files and folders of the repository, elsewhere the addresses of others.
	here, elsewhere []string
	charts          []Release
}

// kustomized adds what a kustomization and those below it are made of, and the charts
// of theirs where they are inflated.
func (x *applying) kustomized(p string, charts bool, seen map[string]bool, all *made) {
	if x.steps++; seen[p] || x.steps > maxSteps {
		return
	}
	seen[p] = true
	if x.tree.IsFile(p) {
		all.files = append(all.files, p)
		return
	}
	k := x.kustomization(p)
	all.addresses = append(all.addresses, k.elsewhere...)
	if charts {
		all.releases = append(all.releases, k.charts...)
	}
	for _, next := range k.here {
		x.kustomized(next, charts, seen, all)
	}
}

// kustomization reads that of a folder.
func (x *applying) kustomization(dir string) kustomization {
	if known, ok := x.listed[dir]; ok {
		return known
	}
	var k kustomization
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		file := path.Join(dir, name)
		data, err := x.tree.Read(file)
		if err != nil {
			continue
		}
		if v, err := yamldoc.ParseKustomization(file, data); err == nil {
			k = contents(x.tree, dir, v)
		}
		break
	}
	x.listed[dir] = k
	return k
}

// contents are what a kustomization in a folder names.
func contents(tree *repofs.Tree, dir string, v *yamldoc.Value) kustomization {
	var k kustomization
	for _, key := range []string{"resources", "bases", "components"} {
		for _, item := range v.At(key).Elements() {
			next := path.Join(dir, item.Text)
			switch {
			case item.Text == "":
			case strings.Contains(item.Text, "://"), strings.HasPrefix(item.Text, "github.com/"):
				k.elsewhere = append(k.elsewhere, item.Text)
			case !strings.HasPrefix(next, "../"):
				k.here = append(k.here, next)
			}
		}
	}
	for _, item := range v.At("helmCharts").Elements() {
		home := cmp.Or(item.TextAt("chartHome"), v.TextAt("helmGlobals", "chartHome"), "charts")
		k.charts = append(k.charts, inflated(tree, dir, home, item)...)
	}
	return k
}

// inflated are the releases that an entry of helmCharts stands for. Source: kustomize,
// HelmChart.
func inflated(tree *repofs.Tree, dir, home string, item *yamldoc.Value) []Release {
	r := Release{
		Repository: item.TextAt("repo"), Chart: item.TextAt("name"), Version: item.TextAt("version"),
		Name: cmp.Or(item.TextAt("releaseName"), item.TextAt("name")), SkipCRDs: item.TextAt("includeCRDs") != "true",
	}
	for _, file := range append([]*yamldoc.Value{item.At("valuesFile")}, item.At("additionalValuesFiles").Elements()...) {
		if file == nil || file.Text == "" {
			continue
		}
		r.readsFile(path.Join(dir, file.Text), tree)
	}
	if inline := item.At("valuesInline"); inline != nil {
		r.Values, _ = inline.Any().(map[string]any)
	}
	if r.Repository == "" {
		return dependencies(tree, dir+"/", path.Join(home, r.Chart), r)
	}
	return []Release{r}
}

// readsFile adds a file of values to what a release is made with.
func (r *Release) readsFile(file string, tree *repofs.Tree) {
	if strings.HasPrefix(file, "../") || !tree.IsFile(file) {
		r.Partial = true
		return
	}
	r.ValueFiles = append(r.ValueFiles, file)
}

// Source is the source of a component that has the chart of a release with its values.
func (r Release) Source() model.Source {
	src := model.Source{
		Kind: model.Chart, RepoURL: r.Repository, Name: r.Chart, Version: r.Version, ReleaseName: r.Name,
		Values: r.Values, Parameters: r.Set, SkipCRDs: r.SkipCRDs, Position: r.Position,
	}
	for _, file := range r.ValueFiles {
		src.ValueFiles = append(src.ValueFiles, model.ValueFile{Path: file, Here: true, Position: r.Position})
	}
	if r.Partial {
		src.Incomplete = "it has values of its own"
	}
	return src
}
