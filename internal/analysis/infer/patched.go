package infer

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// patched reports whether a kustomization of a component may write sync waves or
// hooks on what is not rendered: where that stands in the sync is not known then.
func (x *index) patched(c *model.Component) bool {
	seen := map[string]bool{}
	for _, src := range c.Sources {
		if src.Kustomize != nil {
			written, err := yaml.Marshal([]any{src.Kustomize.Patches, src.Kustomize.CommonAnnotations})
			if err != nil || placing(written) || len(src.Kustomize.Components) > 0 {
				return true
			}
		}
		if src.Path != "" && x.in.Read != nil && x.places(src.Path, seen) {
			return true
		}
	}
	return false
}

// maxKustomizations is how many folders of kustomizations are read for one
// component.
const maxKustomizations = 50

// places reads a kustomization, its patches, and those that it is made of.
func (x *index) places(folder string, seen map[string]bool) bool {
	if seen[folder] || len(seen) >= maxKustomizations {
		return false
	}
	seen[folder] = true
	var data []byte
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		var err error
		if data, err = x.in.Read(path.Join(folder, name)); err == nil {
			break
		}
	}
	if len(data) == 0 || len(data) > maxValues {
		return false
	}
	if placing(data) {
		return true
	}
	var k map[string]any
	if manifest.Unmarshal(data, &k) != nil {
		return false
	}
	for _, field := range []string{"patches", "patchesStrategicMerge", "patchesJson6902", "transformers"} {
		for _, e := range list(k, field) {
			file, ok := e.(string)
			if m, isMap := e.(map[string]any); isMap {
				file = text(m, "path")
				ok = file != ""
			}
			if !ok || strings.Contains(file, "\n") {
				continue
			}
			if patch, err := x.in.Read(path.Join(folder, file)); err == nil && placing(patch) {
				return true
			}
		}
	}
	for _, chart := range list(k, "helmCharts") {
		m, _ := chart.(map[string]any)
		for _, file := range append(list(m, "additionalValuesFiles"), m["valuesFile"]) {
			file, ok := file.(string)
			if values, err := x.in.Read(path.Join(folder, file)); ok && err == nil && placing(values) {
				return true
			}
		}
	}
	for _, field := range []string{"resources", "bases", "components"} {
		for _, e := range list(k, field) {
			if sub, ok := e.(string); ok && !isFile(sub) && x.places(path.Join(folder, sub), seen) {
				return true
			}
		}
	}
	return false
}

// placedByValues reports whether the values of a component write sync waves or hooks.
func (x *index) placedByValues(c *model.Component) bool {
	for _, src := range c.Sources {
		written, err := yaml.Marshal([]any{src.Values, src.Parameters, src.StringParameters})
		if err != nil || x.in.Read == nil || placing(written) {
			return true
		}
		files := []string{path.Join(src.Path, "values.yaml")} // those of the chart around it
		for _, f := range src.ValueFiles {
			files = append(files, f.Path)
		}
		if slices.ContainsFunc(files, func(file string) bool {
			data, err := x.in.Read(file)
			return err == nil && placing(data)
		}) {
			return true
		}
	}
	return false
}

// isFile reports whether an entry of a kustomization is no folder of the repository.
func isFile(entry string) bool {
	return strings.Contains(entry, "://") || path.Ext(entry) == ".yaml" || path.Ext(entry) == ".yml" || path.Ext(entry) == ".json"
}

// placing reports whether a text holds an annotation that places objects.
func placing(text []byte) bool {
	s := string(text)
	return strings.Contains(s, "argocd.argoproj.io/sync-wave") || strings.Contains(s, "argocd.argoproj.io~1sync-wave") ||
		strings.Contains(s, "argocd.argoproj.io/hook") || strings.Contains(s, "argocd.argoproj.io~1hook")
}
