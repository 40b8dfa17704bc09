package argocd

import (
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// layerByValue matches a file of values in a template, whose path has one value of the chart for a
// folder or a name: envs/{{ .Values.cluster }}/values.yaml.
var layerByValue = lazyregexp.New(`^\s*-\s*["']?(?:\./)?([\w./-]*)\{\{-?\s*\$?\.Values\.[\w.]+\s*-?\}\}([\w./-]*\.ya?ml)["']?\s*$`)

// templatedLayers are the files of values, by environment, that a chart gives to itself by a value of
// each environment. They are in the order of its template. A file that is not there is left out, and
// so are folders that people copy from.
func (r *Repository) templatedLayers(dir string) map[string][]string {
	layers := map[string][]string{}
	for _, file := range r.under(path.Join(dir, "templates")) {
		data, err := r.tree.Read(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			m := layerByValue.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
			if m == nil {
				continue
			}
			for _, values := range r.within(dir) {
				rel, _ := below(dir, values)
				rest, ok := strings.CutPrefix(rel, m[1])
				name, whole := strings.CutSuffix(rest, m[2])
				if !ok || !whole || name == "" || strings.ContainsAny(name, "/") || isCopied(name) || r.isUnused(values) || slices.Contains(layers[name], values) {
					continue
				}
				layers[name] = append(layers[name], values)
			}
		}
	}
	return layers
}

// isCopied reports whether a folder is one that people copy from, by its name.
func isCopied(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") || slices.Contains([]string{"example", "examples", "sample", "template"}, name)
}
