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
type trail struct {
	applications, sets []string
	// generated says of each of the applications whether a set generates it.
	generated []bool
}

func (t trail) application(d document) trail {
	t.applications = append(slices.Clone(t.applications), d.name())
	t.generated = append(slices.Clone(t.generated), d.generated != nil)
	return t
}

func (t trail) set(name string) trail {
	t.sets = append(slices.Clone(t.sets), name)
	return t
}
