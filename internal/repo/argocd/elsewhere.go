package argocd

import (
	"path"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// elsewhere reads a source in another Git repository. What its folder holds is known
// when it has been fetched.
func (r *Repository) elsewhere(to *model.Source, d document, s source, refs map[string]source, problems *yamldoc.Problems) {
	to.Kind = model.Git
	to.RepoURL, to.Name, to.Version = s.repoURL(), s.path(), s.value.TextAt("targetRevision")
	if s.value.At("plugin") != nil {
		to.Refused = pluginRefused(s)
		return
	}
	directory := s.value.At("directory")
	if to.As = r.kindBySpec(s); to.As == model.Manifests && !isExplicit(directory) {
		to.As = ""
	}
	to.ReleaseName = d.name()
	if helm := s.value.At("helm"); helm != nil && helm.Kind == yamldoc.Map {
		r.helm(to, d, s, refs, yamldoc.Read(helm, "helm", problems))
	}
	to.Kustomize = r.kustomizeOptions(d, s, s.path(), problems)
	if kustomize := s.value.At("kustomize"); boolAt(kustomize, "ignoreMissingComponents") && kustomize.At("components") != nil {
		to.Incomplete = "which of its components exist in the other repository is not known"
	}
	to.Recurse = boolAt(directory, "recurse")
	to.Include, to.Exclude = directory.TextAt("include"), directory.TextAt("exclude")
	if directory.At("jsonnet") != nil {
		to.Incomplete = "the Jsonnet settings of a source in another repository are not read"
	}
}

// valueFileElsewhere is the path of a value file in the other repository of a source.
func valueFileElsewhere(to *model.Source, written string) string {
	if path.IsAbs(written) {
		return path.Clean(written)[1:]
	}
	return path.Join(to.Name, written)
}
