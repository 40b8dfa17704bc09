package argocd

import "strings"

// isSkeleton reports whether an Application or a set is one that another tool makes others of: the whole
// name is filled in, and of one source the path as well. ${{ }} is of scaffolders, whatever is filled in.
// An Application of which a part of the name is open, or of which the folder is known, is read as it is.
func isSkeleton(d document) bool {
	if !d.applies() || !hasPlaceholder(d.name()) {
		return false
	}
	if strings.Contains(d.name(), "${{") {
		return true
	}
	if filledIn.ReplaceAllString(d.name(), "") != "" {
		return false
	}
	for _, s := range d.sources() {
		if hasPlaceholder(s.path()) {
			return true
		}
	}
	return false
}
