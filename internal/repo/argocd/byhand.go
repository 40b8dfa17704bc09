package argocd

import (
	"context"
	"maps"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// ByHand is one thing that somebody applies by hand, from which the Applications
// of an environment come.
type ByHand struct {
	// Kind and Name are those of an Application or an ApplicationSet, Position
	// where it is written; empty for a folder.
	Kind, Name string
	Position   finding.Position
	// Object is what is applied, which the file at Position may not have so: another tool makes it, such
	// as Terraform or an operator, or a kustomization patches it.
	Object map[string]any
	// Folder is one of Applications, or of a chart that makes them; Chart is how that is
	// installed, nil where it is not one.
	Folder string
	Chart  *model.Source
}

// Helm is what an Application says that installs the chart; nil where it is none. at is where
// a path of the platform is in the repository.
func (h ByHand) Helm(at func(p string) string) map[string]any {
	if h.Chart == nil {
		return nil
	}
	section := map[string]any{"releaseName": h.Chart.ReleaseName}
	var files, parameters []any
	for _, f := range h.Chart.ValueFiles {
		files = append(files, "/"+at(f.Path))
	}
	set := func(all map[string]string, text bool) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			parameters = append(parameters, map[string]any{"name": name, "value": all[name], "forceString": text})
		}
	}
	set(h.Chart.Parameters, false)
	set(h.Chart.StringParameters, true)
	if len(files) > 0 {
		section["valueFiles"] = files
	}
	if len(parameters) > 0 {
		section["parameters"] = parameters
	}
	if len(h.Chart.Values) > 0 {
		section["valuesObject"] = h.Chart.Values
	}
	return section
}

// ByHand lists them in their order.
func (e Environment) ByHand() []ByHand {
	if e.Overlay != "" {
		return []ByHand{{Folder: e.Overlay}}
	}
	var all []ByHand
	for _, root := range e.roots {
		switch {
		case root.folder != "":
			all = append(all, ByHand{Folder: root.folder})
		case root.chart.dir != "" && root.document.chart != nil:
			all = append(all, ByHand{Folder: root.chart.dir, Chart: &root.document.chart.Sources[0]})
		case root.document.written != nil:
			d := root.document
			object, _ := d.value.Any().(map[string]any)
			all = append(all, ByHand{Kind: d.value.TextAt("kind"), Name: d.name(), Position: d.position(), Object: object})
		}
	}
	return all
}

// Addresses are those under which the repository is known, as NormaliseAddress
// writes them, sorted.
func (r *Repository) Addresses() []string {
	own := maps.Clone(r.own)
	maps.DeleteFunc(own, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(own))
}

// NewGlobbing reports whether the newer globbing of Git generators is switched on.
func (r *Repository) NewGlobbing() bool { return r.settings.NewGlobbing.On }

// NormaliseAddress makes the forms of one address equal: https, ssh and scp-like,
// with and without .git.
func NormaliseAddress(url string) string { return normaliseURL(url) }

// PassedOver reports whether an environment starts with nothing but folders that lie below
// one of the folders which another tool applies, and that the kustomization there leaves out:
// none of them takes the folder, and no command applies it.
func (r *Repository) PassedOver(ctx context.Context, e Environment, applied []string) bool {
	all := e.ByHand()
	return len(all) > 0 && !slices.ContainsFunc(all, func(one ByHand) bool {
		left := func(dir string) bool {
			_, inside := below(dir, one.Folder)
			return inside && r.isKustomization(dir)
		}
		taken := func(dir string) bool { return slices.Contains(r.closure(dir), one.Folder) }
		return one.Folder == "" || !slices.ContainsFunc(applied, left) || slices.ContainsFunc(applied, taken) ||
			slices.ContainsFunc(r.closure(one.Folder), func(p string) bool { return r.isHanded(ctx, p) })
	})
}

// OnlyExamples are the files with which an environment starts, where all of them lie in folders of
// examples or documents and no command applies one; nil otherwise.
func (r *Repository) OnlyExamples(ctx context.Context, e Environment) []string {
	var all []string
	for _, root := range e.roots {
		file := root.file()
		if root.chart.dir != "" || !isExample(file+"/") || r.isHanded(ctx, file) {
			return nil
		}
		all = append(all, file)
	}
	slices.Sort(all)
	return all
}
