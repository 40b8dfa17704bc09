package argocd

import "strings"

// isSkeleton reports whether an Application or a set cannot be applied before another tool fills it in,
// which says what it takes as well: its name, and the address of its source. Of what has a name like
// ${{ values.name }} or {{ .Env.NAME }} every part may be filled in.
func isSkeleton(d document) bool {
	if !d.applies() || !hasPlaceholder(d.name()) {
		return false
	}
	if strings.Contains(d.name(), "{{") || strings.Contains(d.name(), "{%") {
		return true
	}
	for _, s := range d.sources() {
		if hasPlaceholder(s.repoURL()) || hasPlaceholder(s.path()) {
			return true
		}
	}
	return false
}
