package argocd

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/checkout"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// originOf is the address that a repository was cloned from; empty where that is not known, or
// the platform is a part of the repository.
func originOf(tree *repofs.Tree) string {
	c, err := checkout.Read(tree.Repository)
	if err != nil || tree.Root != tree.Repository {
		return ""
	}
	return normaliseURL(c.URL)
}

// cloned are those of several addresses from which the repository was cloned: the address that
// its checkout has, else those that are called as its folder is.
func (r *Repository) cloned(addresses []string) []string {
	if origin := r.origin(); origin != "" && slices.Contains(addresses, origin) {
		return []string{origin}
	}
	return slices.DeleteFunc(slices.Clone(addresses), func(url string) bool { return path.Base(url) != strings.ToLower(filepath.Base(r.tree.Repository)) })
}

// isTwin reports whether an address has a twin that is more likely to be this repository's,
// since more of its paths exist. One of whose paths holds Applications is not another's.
func (r *Repository) isTwin(t tallies, url string) bool {
	for file, documents := range r.files {
		for p := range t[url].found {
			if _, inside := below(p, file); inside && slices.ContainsFunc(documents, document.applies) {
				return false
			}
		}
	}
	for twin := range t[url].twins {
		if r.own[twin] && r.here[twin] > r.here[url] {
			return true
		}
	}
	return false
}

// isNamesake reports whether an address differs from that of the checkout, which others name, by
// its owner alone: a fork, what this is a fork of, or what it was called before.
func (r *Repository) isNamesake(t tallies, url string) bool {
	origin := r.origin()
	return t[origin] != nil && url != origin && !t[url].sure && path.Base(url) == path.Base(origin) && path.Dir(path.Dir(url)) == path.Dir(path.Dir(origin))
}

// coincides reports whether little speaks for an address that is called otherwise than another
// one of this repository: a few folders that Applications take of the address of the checkout,
// too, or beside which others do not exist, or one of a common name where several speak for the
// other.
func (r *Repository) coincides(t tallies, url string) bool {
	counted, origin := t[url], r.origin()
	if hasPlaceholder(counted.address) || counted.sure || len(counted.found) >= minSure {
		return false
	}
	if by := t[origin]; by != nil && len(counted.found) > 0 && path.Base(origin) != path.Base(url) &&
		(containsAll(by.found, counted.found) || counted.here < counted.all && len(by.found) > 0) {
		return true
	}
	if len(counted.found) != 1 || counted.deep() {
		return false
	}
	for other, by := range t {
		if r.own[other] && path.Base(other) != path.Base(url) && len(by.found) >= minSure && !hasPlaceholder(by.address) {
			return true
		}
	}
	return false
}

// isCopyOf reports whether an address is that of another repository, of which this one is a
// copy: the checkout has an address of another name, which Applications take folders of as well.
func (r *Repository) isCopyOf(url string) bool {
	return r.cited && url != r.origin() && path.Base(url) != path.Base(r.origin())
}

func (t *tally) twin(url string) {
	if t.twins == nil {
		t.twins = map[string]bool{}
	}
	t.twins[url] = true
}

func containsAll(all, some map[string]bool) bool {
	for p := range some {
		if !all[p] {
			return false
		}
	}
	return true
}
