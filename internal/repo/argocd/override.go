package argocd

import (
	"path"

	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// overridden is a source with what the files in its folder put over it: for every
// Application, then for this one. Image updaters write them. refused says why Argo CD
// makes nothing of the source; empty where it does. Source: Argo CD, "Parameter
// Overrides", reposerver/repository, mergeSourceParameters.
func (r *Repository) overridden(d document, s source, dir string) (merged source, refused string) {
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + d.name() + ".yaml"} {
		file := path.Join(dir, name)
		if !r.tree.IsFile(file) {
			continue
		}
		data, err := r.tree.Read(file)
		var over *yamldoc.Value
		if err == nil {
			over, err = yamldoc.ParseOne(file, data)
		}
		if err != nil || over == nil || over.Kind != yamldoc.Map {
			return s, file + " is not a YAML map; write one, with the fields of a source that it changes"
		}
		// It changes how a source is built, not which one it is.
		for _, key := range []string{"repoURL", "path", "chart", "targetRevision"} {
			over = over.With(key, s.value.At(key))
		}
		s.value = mergeValues(s.value, over)
		s.written = s.value
	}
	return s, ""
}
