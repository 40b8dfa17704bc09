package analysis

import (
	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
)

// filled are the Kustomizations of Flux that fill in variables, and all HelmReleases.
func filled(setup *fluxcd.Setup) map[string]infer.Filled {
	if setup == nil {
		return nil
	}
	all := map[string]infer.Filled{}
	for i := range setup.Units {
		u := &setup.Units[i]
		if u.Component == "" || u.Kind == fluxcd.Kustomization && len(u.Sources) == 0 {
			continue
		}
		group := "kustomize.toolkit.fluxcd.io"
		if u.Kind == fluxcd.HelmRelease {
			group = "helm.toolkit.fluxcd.io"
		}
		all[u.Component] = infer.Filled{
			Object:   finding.Resource{Group: group, Kind: string(u.Kind), Namespace: u.Namespace, Name: u.Name},
			Position: u.Position, From: u.Sources,
		}
	}
	return all
}
