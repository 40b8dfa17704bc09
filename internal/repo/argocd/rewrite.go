package argocd

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// rewrite takes out of a kustomization what is not in the repository or needs
// another program, and writes the older
// fields as the newer ones, about which kustomize would warn on the terminal.
func (g *kustomizeView) rewrite(file string, data []byte) ([]byte, error) {
	v, err := yamldoc.ParseKustomization(file, data)
	if err != nil {
		return nil, err
	}
	content, ok := v.Any().(map[string]any)
	if !ok {
		return nil, &repofs.InputError{Position: v.Position, Message: "the kustomization is not a map"}
	}
	dir := path.Dir(file)
	if dir == g.top {
		// What the options add is of the repository, and is checked as such.
		if g.options != nil {
			g.options.Apply(content)
			v = yamldoc.FromAny(content, v.Position)
		}
	}
	for _, key := range []string{"resources", "bases", "components"} {
		if content[key], err = g.resources(dir, v.At(key)); err != nil {
			return nil, err
		}
	}
	if charts := g.inflate(dir, v); len(charts) > 0 {
		kept, _ := content["resources"].([]any)
		content["resources"] = slices.Concat(kept, charts)
	}
	if e, ok := v.Get("helmChartInflationGenerator"); ok {
		g.leftOut = append(g.leftOut, leftOut{at: e.Position, what: "helmChartInflationGenerator of a kustomization of Applications is not read"})
	}
	delete(content, "helmCharts")
	delete(content, "helmChartInflationGenerator")
	for _, key := range []string{"generators", "transformers", "validators"} {
		content[key] = g.plugins(dir, key, v.At(key))
	}
	for _, key := range []string{"patches", "patchesStrategicMerge", "patchesJson6902", "configurations", "crds", "openapi", "replacements", "configMapGenerator", "secretGenerator"} {
		if e, ok := v.Get(key); ok {
			content[key] = g.withoutAddresses(key, e.Value)
		}
	}
	g.modernise(dir, content)
	if g.lenient {
		g.dropPatches(dir, content)
	}
	delete(content, "buildMetadata")
	for key, value := range content {
		if list, ok := value.([]any); value == nil || ok && len(list) == 0 {
			delete(content, key)
		}
	}
	if _, some := content["resources"]; !some && !isEmpty(v) {
		content["resources"] = []any{} // without a list kustomize takes it for empty, and fails
	}
	return yaml.Marshal(content)
}

// withoutAddresses keeps of a field that names files the entries whose files are in the repository.
// Kustomize gets the others, whichever field names them.
func (g *kustomizeView) withoutAddresses(key string, v *yamldoc.Value) any {
	leave := func(item *yamldoc.Value) bool {
		address := remotePath(item)
		if address == nil {
			return false
		}
		g.leftOut = append(g.leftOut, leftOut{at: address.Position, part: true, what: fmt.Sprintf("%s, which the field %s names, is not read", address.Text, key)})
		return true
	}
	if v.Kind != yamldoc.List {
		if leave(v) {
			return nil
		}
		return v.Any()
	}
	kept := []any{}
	for _, item := range v.Items {
		if !leave(item) {
			kept = append(kept, item.Any())
		}
	}
	return kept
}

// dropPatches keeps the patches that are for Argo CD's own objects, and drops generators that change
// what may be left out.
func (g *kustomizeView) dropPatches(dir string, content map[string]any) {
	delete(content, "replacements")
	for _, key := range []string{"configMapGenerator", "secretGenerator"} {
		if list, ok := content[key].([]any); ok {
			content[key] = slices.DeleteFunc(slices.Clone(list), func(item any) bool {
				m, _ := item.(map[string]any)
				return m["behavior"] == "merge" || m["behavior"] == "replace"
			})
		}
	}
	patches, _ := content["patches"].([]any)
	content["patches"] = slices.DeleteFunc(slices.Clone(patches), func(patch any) bool {
		m, _ := patch.(map[string]any)
		if target, ok := m["target"].(map[string]any); ok {
			kind, _ := target["kind"].(string)
			return !isArgoKind(kind)
		}
		text, _ := m["patch"].(string)
		if file, ok := m["path"].(string); ok {
			data, err := g.tree.Read(path.Join(dir, file))
			if err != nil {
				return true
			}
			text = string(data)
		}
		values, err := yamldoc.Parse(dir, []byte(text))
		return err != nil || !slices.ContainsFunc(values, func(v *yamldoc.Value) bool {
			return isArgoKind(v.TextAt("kind")) && strings.HasPrefix(v.TextAt("apiVersion"), "argoproj.io/")
		})
	})
	for _, list := range []string{"configMapGenerator", "secretGenerator"} {
		entries, _ := content[list].([]any)
		content[list] = slices.DeleteFunc(slices.Clone(entries), func(entry any) bool {
			m, _ := entry.(map[string]any)
			return m["behavior"] == "merge" || m["behavior"] == "replace"
		})
	}
}

func isArgoKind(kind string) bool {
	return slices.Contains([]string{"Application", "ApplicationSet", "AppProject"}, kind)
}

// resources keeps the entries that are in the repository.
func (g *kustomizeView) resources(dir string, list *yamldoc.Value) ([]any, error) {
	if list == nil {
		return nil, nil
	}
	var kept []any
	for _, item := range list.Items {
		p := path.Join(dir, item.Text)
		here := g.tree.IsFile(p) || g.tree.IsDir(p)
		if !here && isRemote(item.Text) {
			g.leftOut = append(g.leftOut, leftOut{at: item.Position, part: true, what: fmt.Sprintf("the remote resource %s is not read", item.Text)})
			continue
		}
		// An entry may also be a whole manifest, written in place.
		if !here && item.Kind == yamldoc.Scalar && !strings.Contains(item.Text, "\n") {
			if _, err := g.tree.Resolve(p, item.Position); err != nil {
				return nil, err
			}
			if m := g.tree.Submodule(p); m != "" {
				g.leftOut = append(g.leftOut, leftOut{at: item.Position, part: true, what: fmt.Sprintf("%s is in the submodule %s, which is not checked out", item.Text, m)})
				continue
			}
			// Argo CD cannot build it; what else it holds is read all the same.
			g.leftOut = append(g.leftOut, leftOut{at: item.Position, what: fmt.Sprintf("%s does not exist: the kustomization cannot be built", item.Text), missing: p})
			continue
		}
		if why := g.unbuildable(p, item.Text); why != "" {
			left := leftOut{at: item.Position, what: why + ": the kustomization cannot be built", invalid: true}
			if m := g.tree.Submodule(p); m != "" {
				left = leftOut{at: item.Position, part: true, what: fmt.Sprintf("%s is in the submodule %s, which is not checked out", item.Text, m)}
			}
			g.leftOut = append(g.leftOut, left)
			continue
		}
		kept = append(kept, item.Any())
	}
	return kept, nil
}

// unbuildable says why kustomize refuses the folder dir, which an entry names, before it
// looks at what is in it.
func (g *kustomizeView) unbuildable(dir, entry string) string {
	if !g.tree.IsDir(dir) {
		return ""
	}
	file := kustomizationFile(g.tree, dir)
	if file == "" {
		return "the folder " + entry + " has no kustomization"
	}
	data, err := g.tree.Read(file)
	if err != nil {
		return ""
	}
	if v, err := yamldoc.ParseKustomization(file, data); err == nil && isEmpty(v) {
		return "the kustomization " + file + " is empty"
	}
	return ""
}

// isEmpty reports whether a kustomization says nothing but what it is. Source: kustomize,
// Kustomization.CheckEmpty.
func isEmpty(v *yamldoc.Value) bool {
	content, isMap := v.Any().(map[string]any)
	for key, value := range content {
		if key != "apiVersion" && key != "kind" && value != nil {
			return false
		}
	}
	return isMap
}

// plugins keeps those that are part of kustomize itself. Others are programs,
// ksops for example, that decrypt or fetch what they make.
func (g *kustomizeView) plugins(dir, key string, list *yamldoc.Value) []any {
	if list == nil {
		return nil
	}
	var kept []any
	for _, item := range list.Items {
		documents := plugin(g.tree, dir, item)
		if len(documents) > 0 && !slices.ContainsFunc(documents, func(d *yamldoc.Value) bool { return !isInflator(d) }) {
			continue // a chart: what it makes is put in its place
		}
		if len(documents) > 0 && !slices.ContainsFunc(documents, func(d *yamldoc.Value) bool {
			return d.TextAt("apiVersion") != "builtin" || isInflator(d)
		}) {
			kept = append(kept, item.Any())
			continue
		}
		secrets := len(documents) > 0 && !slices.ContainsFunc(documents, func(d *yamldoc.Value) bool { return !strings.HasPrefix(d.TextAt("kind"), "ksops") })
		g.leftOut = append(g.leftOut, leftOut{at: item.Position, part: secrets, what: fmt.Sprintf("%s %s is not run", strings.TrimSuffix(key, "s"), strings.SplitN(item.Text, "\n", 2)[0])})
	}
	return kept
}

// modernise writes deprecated fields as those that replace them. Source:
// kustomize, "kustomize edit fix".
func (g *kustomizeView) modernise(dir string, content map[string]any) {
	if bases, ok := content["bases"].([]any); ok {
		resources, _ := content["resources"].([]any)
		content["resources"] = slices.Concat(resources, bases)
		delete(content, "bases")
	}
	patches, listed := content["patches"].([]any)
	if !listed && content["patches"] != nil {
		return
	}
	if merges, ok := content["patchesStrategicMerge"].([]any); ok {
		for _, merge := range merges {
			text, _ := merge.(string)
			if g.tree.IsFile(path.Join(dir, text)) {
				patches = append(patches, map[string]any{"path": text})
			} else {
				patches = append(patches, map[string]any{"patch": text})
			}
		}
		delete(content, "patchesStrategicMerge")
	}
	if more, ok := content["patchesJson6902"].([]any); ok {
		patches = append(patches, more...)
		delete(content, "patchesJson6902")
	}
	content["patches"] = patches
	if labels, ok := content["commonLabels"].(map[string]any); ok {
		list, _ := content["labels"].([]any)
		content["labels"] = append(list, map[string]any{"pairs": labels, "includeSelectors": true})
		delete(content, "commonLabels")
	}
}
