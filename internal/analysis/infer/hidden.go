package infer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Part is a part of a component that is not rendered: a chart, or a folder or file of
// another repository. Address is empty for what this repository holds.
type Part struct {
	// Address is that of the repository, with the name of the chart or folder in it.
	Address string
	Chart   bool
	// Release is that of a chart, where the component says it.
	Release string
}

// PartOf is a source as a part that is not rendered.
func PartOf(s model.Source) Part {
	if s.RepoURL == "" {
		return Part{Chart: s.Kind == model.Chart}
	}
	return Part{Address: s.RepoURL + "/" + s.Name, Chart: s.Kind == model.Chart, Release: s.ReleaseName}
}

// hidden is a part with its component.
type hidden struct {
	component int
	Part
}

// hide notes what is not known of a component that is not rendered as a whole; listed is
// set where the catalogue has something of it.
func (x *index) hide(component int, known Known, listed bool) {
	for _, part := range known.Hidden {
		x.hidden = append(x.hidden, hidden{component, part})
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
			x.hidden = append(x.hidden, hidden{component, PartOf(s)})
		}
	}
}

// open notes all that is not rendered of a component. A source whose values are not all known
// may hold anything.
func (x *index) open(component int, known Known) {
	if known.Unrendered {
		for _, part := range known.Lacking {
			x.gaps = append(x.gaps, hidden{component, part})
		}
		return
	}
	sources := x.in.Components[component].Sources
	if len(sources) == 0 {
		x.gaps = append(x.gaps, hidden{component: component})
	}
	for _, s := range sources {
		g := hidden{component, PartOf(s)}
		if s.Incomplete != "" {
			g.Address = ""
		}
		x.gaps = append(x.gaps, g)
	}
}

// published reports whether a part is neither of this repository nor of another one of its
// owner.
func (x *index) published(h hidden) bool {
	return h.Address != "" && x.in.Related != nil && !x.in.Related(h.Address)
}

// keepsToItself reports whether a part of another repository of the owner is called after the
// namespace that it goes to, as what one application consists of: it makes no other
// Namespaces, and mounts nothing elsewhere.
func (x *index) keepsToItself(h hidden) bool {
	ns, called := x.in.Components[h.component].Namespace, x.called(h)
	sets := slices.ContainsFunc([]string{"vault", "secret", "credential", "platform", "infra", "shared", "operator"}, func(word string) bool { return strings.Contains(called, word) })
	return h.Address != "" && ns != "" && !systemNamespace(ns) && !argoNamespace(ns) && shareWord(ns, called, minWord) && !setsUp(called) && !sets
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
		if !x.published(h) && !x.keepsToItself(h) || h.Chart && c.Namespace == "" || x.speaksOf(h, namespace) {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	x.holders[k] = out
	return out
}

// likelyMakers are those of makers of which something says that they make a Namespace: the
// Application of its objects asks for it itself.
func (x *index) likelyMakers(namespace string) (out []string) {
	for _, h := range x.hidden {
		if x.speaksOf(h, namespace) {
			out = append(out, x.name(h.component))
		}
	}
	return out
}

// speaksOf reports whether a part that is not rendered goes to a namespace, is called like it or
// as those are that set up Namespaces, or names it in its values.
func (x *index) speaksOf(h hidden, namespace string) bool {
	called := x.called(h)
	return x.in.Components[h.component].Namespace == namespace || shareWord(namespace, called, minWord) || forNamespaces(called) || strings.Contains(x.said(h.component), namespace)
}

// minWord is the shortest word of a name that tells it from others.
const minWord = 4

// forNamespaces reports whether a chart is called as those are that set up Namespaces.
func forNamespaces(called string) bool {
	return slices.ContainsFunc([]string{"namespace", "tenant", "project", "team", "onboard", "base", "bootstrap", "cluster-config", "common"}, func(word string) bool {
		return strings.Contains(called, word)
	})
}

// called is all that a part is called, in lower case: objects of a chart are named after it.
func (x *index) called(h hidden) string {
	return strings.ToLower(x.name(h.component) + " " + h.Address + " " + h.Release + " " + x.overrides(h.component))
}

// overrides are the names that values give to the charts of a component.
func (x *index) overrides(component int) string {
	if text, known := x.renamed[component]; known {
		return text
	}
	var names []string
	for _, s := range x.in.Components[component].Sources {
		for _, l := range append(x.layers(s), parameters(s)) {
			everywhere(l.data, "", "", func(m map[string]any, _, _ string) {
				for _, field := range []string{"fullnameOverride", "nameOverride"} {
					if name, ok := m[field].(string); ok {
						names = append(names, name)
					}
				}
			})
		}
	}
	text := strings.Join(names, " ")
	x.renamed[component] = text
	return text
}

// shareWord reports whether a text has a word of a name, of so many letters at least, or the
// whole name where its words are too short to tell.
func shareWord(name, text string, least int) bool {
	all := slices.DeleteFunc(words(name), func(w string) bool { return len(w) < least })
	if len(all) == 0 {
		all = []string{name}
	}
	return slices.ContainsFunc(all, func(w string) bool { return strings.Contains(text, w) })
}
