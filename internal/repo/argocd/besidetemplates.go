package argocd

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// besideTemplates tells of manifests that lie beside the Chart.yaml of a chart and that nothing
// else names: Helm renders the folders templates and crds alone. A template that reads files of
// the chart may take them, and one of a library that it includes.
func (r *Repository) besideTemplates(ctx context.Context, c model.Component, d document, to model.Source) []finding.Finding {
	if to.Kind != model.Chart || to.Path == "" || !r.readsHead(d, to) || r.isKustomization(to.Path) {
		return nil
	}
	depends := len(r.dependencies(to.Path)) > 0
	var left []laidManifest
	for _, file := range r.under(to.Path) {
		rel, inside := belowFolder(to.Path, file)
		if !inside {
			continue
		}
		depends = depends || strings.HasPrefix(rel, "charts/")
		if strings.HasPrefix(rel, "templates/") {
			if data, err := r.tree.Read(file); err != nil || depends || bytes.Contains(data, []byte(".Files")) {
				return nil
			}
		}
		if strings.Contains(rel, "/") || !isManifestEnding(path.Ext(file)) || hidden(rel) || r.isHanded(ctx, file) || r.files[file] != nil || r.isListed(file) {
			continue
		}
		left = append(left, r.layOf(file).manifests...)
	}
	// Files of other tools look like manifests, too.
	if !slices.ContainsFunc(left, func(m laidManifest) bool { return isBuiltin(m.name) }) || r.takesFolder(to.Path) {
		return nil
	}
	f := newFinding(RuleNothing, finding.Info, to.Position, c.Name,
		"Helm renders the templates of the chart %s alone: %s beside its Chart.yaml %s not applied", to.Path, finding.Count(len(left), "manifest"), map[bool]string{true: "is", false: "are"}[len(left) == 1])
	for _, m := range left[:min(len(left), shownLeftOut)] {
		f.Evidence = append(f.Evidence, finding.Evidence{Text: m.name + " is not applied", File: m.at.File, Line: m.at.Line})
	}
	f.Fix.Summary = "move what is meant to be applied into templates"
	return []finding.Finding{f}
}

// isBuiltin reports whether a manifest, by its kind and name, is of a kind that every cluster
// has and people write.
func isBuiltin(manifest string) bool {
	kind, _, _ := strings.Cut(manifest, " ")
	return slices.Contains([]string{
		"ClusterRole", "ClusterRoleBinding", "ConfigMap", "CronJob", "DaemonSet", "Deployment", "Ingress", "Job", "Namespace", "NetworkPolicy",
		"PersistentVolume", "PersistentVolumeClaim", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "StatefulSet", "StorageClass",
	}, kind)
}

// isListed reports whether a kustomization lists a file.
func (r *Repository) isListed(file string) bool {
	return slices.ContainsFunc(r.kustomized, func(dir string) bool { return slices.Contains(r.closure(dir), file) })
}

// takesFolder reports whether an Application takes a folder as plain YAML.
func (r *Repository) takesFolder(dir string) bool {
	return slices.ContainsFunc(slices.Concat(r.applications, r.sets), func(d document) bool {
		return slices.ContainsFunc(d.sources(), func(s source) bool {
			taken, ok := r.local(s)
			return ok && taken == dir && s.value.At("directory") != nil
		})
	})
}
