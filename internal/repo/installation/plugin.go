package installation

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// plugin notes what a config management plugin runs, by the name that sources give it. Source: Argo CD,
// "Config Management Plugins".
func (r *Reader) plugin(v *yamldoc.Value) {
	name, spec := v.TextAt("metadata", "name"), v.At("spec")
	if version := spec.TextAt("version"); version != "" {
		name += "-" + version
	}
	generate := spec.At("generate")
	if r.plugins == nil {
		r.plugins = map[string]string{}
	}
	r.plugins[name] = strings.Join(append(texts(generate.At("command")), texts(generate.At("args"))...), " ")
}

// BuildsWith is the program that builds what the plugin of a name generates first: "kustomize", "helm",
// or empty where nothing here says so.
func (r *Reader) BuildsWith(plugin string) string {
	command := r.plugins[plugin]
	switch {
	case strings.Contains(command, "kustomize build") && !strings.Contains(command, "helm template"):
		return "kustomize"
	case strings.Contains(command, "helm template") && !strings.Contains(command, "kustomize build"):
		return "helm"
	}
	return ""
}
