package importer

import (
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/repo/flux"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// edges adds what the components of a cluster require: a Kustomization and all
// below it wait for what it depends on.
func (f *fluxes) edges(u *clusterUnits) error {
	pairs := 0
	c := u.cluster
	index := map[string]int{}
	for i, k := range c.Kustomizations {
		index[k.Namespace+"/"+k.Name] = i
	}
	for i, k := range c.Kustomizations {
		below := u.below(i)
		for _, dep := range k.DependsOn {
			j, ok := index[dep.Namespace+"/"+dep.Name]
			if !ok {
				f.undefined(c.Name, k.Name, "Kustomization", dep)
				continue
			}
			providers := u.own[j]
			if len(providers) == 0 || c.Kustomizations[j].Wait {
				providers = u.below(j)
			}
			if pairs += len(below) * len(providers); pairs > maxPairs {
				return &repofs.InputError{Position: dep.Position, Message: fmt.Sprintf("more than %d pairs of components wait for each other", maxPairs), Hint: "import a part of the clusters"}
			}
			for _, from := range below {
				for _, to := range providers {
					if i == j || !slices.Contains(below, to) {
						f.require(c.Name, from, to)
					}
				}
			}
		}
	}
	releases := map[string]int{}
	for i, r := range c.Releases {
		releases[r.Namespace+"/"+r.Name] = i
	}
	for i, r := range c.Releases {
		for _, dep := range r.DependsOn {
			if j, ok := releases[dep.Namespace+"/"+dep.Name]; ok {
				f.require(c.Name, u.releases[i], u.releases[j])
			} else {
				f.undefined(c.Name, u.releases[i], "HelmRelease", dep)
			}
		}
	}
	return nil
}

func (f *fluxes) undefined(env, name, kind string, dep flux.Reference) {
	f.p.note(Note{
		Level: Lost, What: string(flux.Depends), Environment: env, Component: name, Position: dep.Position,
		Message: fmt.Sprintf("it depends on the %s %s/%s, which is not in the repository", kind, dep.Namespace, dep.Name), Hint: "correct the name, with its namespace, or remove it",
	})
}

// below are the components of a Kustomization and of those that it applies.
func (u *clusterUnits) below(k int) []string {
	all := slices.Clone(u.own[k])
	for _, child := range u.children[k] {
		all = append(all, u.below(child)...)
	}
	return all
}

func (f *fluxes) require(env, from, to string) {
	c := f.p.component(from)
	if c == nil || from == to {
		return
	}
	d := c.In[env]
	if !slices.Contains(d.Requires, to) {
		d.Requires = append(d.Requires, to)
		slices.Sort(d.Requires)
	}
}
