package infer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// hidden is a part of a component that is neither rendered nor in the catalogue: a chart,
// a folder of another repository, or, where the address is empty, what this repository
// itself holds.
type hidden struct {
	component int
	address   string
}

// Address is that of a chart or of a folder elsewhere, with its name; empty for what this
// repository holds.
func Address(s model.Source) string {
	if s.RepoURL == "" {
		return ""
	}
	return s.RepoURL + "/" + s.Name
}

// hide notes what is not known of a component that is not rendered as a whole; listed is
// set where the catalogue has something of it.
func (x *index) hide(component int, known Known, listed bool) {
	for _, address := range known.Hidden {
		x.hidden = append(x.hidden, hidden{component, address})
	}
	if known.Unrendered {
		return
	}
	sources := x.in.Components[component].Sources
	if len(sources) == 0 && !listed {
		x.hidden = append(x.hidden, hidden{component: component})
	}
	for _, s := range sources {
		if s.Kind != model.Chart || !listed {
			x.hidden = append(x.hidden, hidden{component, Address(s)})
		}
	}
}

// open notes all that is not rendered of a component. A source whose values are not all known
// may hold anything.
func (x *index) open(component int, known Known) {
	if known.Unrendered {
		for _, address := range known.Lacking {
			x.gaps = append(x.gaps, hidden{component, address})
		}
		return
	}
	sources := x.in.Components[component].Sources
	if len(sources) == 0 {
		x.gaps = append(x.gaps, hidden{component: component})
	}
	for _, s := range sources {
		g := hidden{component, Address(s)}
		if s.Incomplete != "" {
			g.address = ""
		}
		x.gaps = append(x.gaps, g)
	}
}

// published reports whether a part is neither of this repository nor of another one of its
// owner.
func (x *index) published(h hidden) bool {
	return h.address != "" && x.in.Related != nil && !x.in.Related(h.address)
}

// makers are the components of which a hidden part may make a Namespace, sorted. What
// this repository or another one of its owner hides may make any. What others publish
// makes those that it goes to, that are called like it, or that its values name.
func (x *index) makers(namespace string) []string {
	k := namespaceKey(namespace)
	out, known := x.holders[k]
	if known {
		return out
	}
	for _, h := range x.hidden {
		c := &x.in.Components[h.component]
		called := strings.ToLower(c.Name + " " + h.address)
		if !x.published(h) || c.Namespace == "" || c.Namespace == namespace || shareWord(namespace, called) || forNamespaces(called) || strings.Contains(x.said(h.component), namespace) {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	x.holders[k] = out
	return out
}

// minWord is the shortest word of a name that tells it from others.
const minWord = 4

// forNamespaces reports whether a chart is called as those are that set up Namespaces.
func forNamespaces(called string) bool {
	return slices.ContainsFunc([]string{"namespace", "tenant", "project", "team", "onboard", "base", "bootstrap", "cluster-config", "common"}, func(word string) bool {
		return strings.Contains(called, word)
	})
}

// shareWord reports whether a text has a word of a name, or the whole name where its words
// are too short to tell.
func shareWord(name, text string) bool {
	words := slices.DeleteFunc(strings.Split(name, "-"), func(w string) bool { return len(w) < minWord })
	if len(words) == 0 {
		words = []string{name}
	}
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
