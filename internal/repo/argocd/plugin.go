package argocd

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// pluginKind is what a plugin builds first, where its name says so and the folder
// is one, or its definition in the repository: argocd-vault-plugin-kustomize, avp-helm. The
// plugin lovely takes a folder for what it is, and kustomizes a chart that has a
// kustomization beside it. What a plugin does to the result is not known. Source:
// argocd-lovely-plugin, README.
func (r *Repository) pluginKind(s source, dir string) model.SourceKind {
	name := s.value.TextAt("plugin", "name")
	program := r.installation.BuildsWith(name)
	switch {
	case strings.Contains(name, "lovely") && r.isKustomization(dir) != r.charts[dir]:
		return r.kind(s, dir)
	case (program == "kustomize" || strings.Contains(name, "kustomize")) && r.isKustomization(dir):
		return model.Kustomize
	case (program == "helm" || strings.Contains(name, "helm")) && r.charts[dir]:
		return model.Chart
	}
	return model.Plugin
}

// pluginRefused says why a source of a plugin is not rendered.
func pluginRefused(s source) string {
	if name := s.value.TextAt("plugin", "name"); name != "" {
		return "the plugin " + name + " is not run"
	}
	return "a plugin that Argo CD finds by itself builds it, which is not run"
}

// pluginValues are the values that a source gives to a chart through a plugin, in the variables that
// the plugin of HashiCorp Vault calls so: HELM_VALUES holds values, HELM_ARGS has flags of Helm, of
// which the files of values are read. Source: argocd-vault-plugin, docs/usage.md.
func (r *Repository) pluginValues(to *model.Source, d document, s source, refs map[string]source) {
	list := s.value.At("plugin", "env")
	if to.Kind != model.Chart || list == nil {
		return
	}
	for _, item := range list.Items {
		value := withVariables(item.TextAt("value"), d, s)
		switch strings.ToUpper(item.TextAt("name")) {
		case "HELM_VALUES":
			var values map[string]any
			if err := manifest.Unmarshal([]byte(value), &values); err == nil {
				to.Values = values
			}
		case "HELM_ARGS":
			words := strings.Fields(value)
			for i, word := range words {
				flag, file, whole := strings.Cut(word, "=")
				if flag != "-f" && flag != "--values" {
					continue
				}
				if !whole && i+1 < len(words) {
					file = words[i+1]
				}
				at := s.at("plugin", "env")
				if p, ok := r.valueFile(to, d, s, at, refs, file, false); ok && r.present[p] {
					to.ValueFiles = append(to.ValueFiles, model.ValueFile{Path: p, Position: at})
				}
			}
		}
	}
}
