package generate

// besideSets warns of ApplicationSets that somebody wrote and that make what is
// generated: two controllers of one Application undo each other.
func (b *builder) besideSets() {
	for _, set := range b.platform.Argo.ApplicationSets {
		var both []string
		for _, name := range set.Applications {
			if _, generated := b.apps[name]; generated {
				both = append(both, name)
			}
		}
		if len(both) > 0 {
			b.warn(set.Position, "the ApplicationSet %s makes %s, too: take it out of the repository with what is generated, and delete it from the cluster without its Applications (kubectl delete --cascade=orphan)", set.Name, some(both))
		}
	}
}
