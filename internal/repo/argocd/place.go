package argocd

import "slices"

// place is where something stands below the roots.
type place struct {
	// waves is the path of sync waves, parents the names of those that apply each
	// step of it.
	waves   []int
	parents []string
}

func (p place) below(parent string, wave int) place {
	return place{waves: append(slices.Clone(p.waves), wave), parents: append(slices.Clone(p.parents), parent)}
}

// trail are the names of the Applications and ApplicationSets from the root.
type trail struct{ applications, sets []string }

func (t trail) application(name string) trail {
	return trail{append(slices.Clone(t.applications), name), t.sets}
}

func (t trail) set(name string) trail {
	return trail{t.applications, append(slices.Clone(t.sets), name)}
}
