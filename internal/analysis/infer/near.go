package infer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// near is the name of what is there in place of a thing that nothing provides, where
// the two differ as a slip of the pen does; empty where there is none. What belongs to
// a namespace is looked for in the component that needs it, and elsewhere where the two
// have the same words.
func (x *index) near(o *object, missing key) string {
	switch missing.Kind {
	case kindSecret, kindConfigMap, kindServiceAccount, kindPVC, kindIssuer, kindClusterIssuer, kindSecretStore, kindClusterSecretStore, kindService:
	default:
		return ""
	}
	var all []string
	for _, name := range x.named()[key{Kind: missing.Kind, Namespace: missing.Namespace}] {
		k := missing
		reordered := turned(name, missing.Name)
		if k.Name = name; !reordered && !slip(name, missing.Name) || x.reads(o, k) || reordered && x.isRead(k) {
			continue
		}
		if slices.ContainsFunc(x.provide[k], func(p provider) bool {
			return p.object != nil && (reordered || k.Namespace == "" || p.component == o.component)
		}) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.Min(all)
}

// sisters are the kinds that a reference may name in place of each other.
var sisters = map[string]string{kindIssuer: kindClusterIssuer, kindSecretStore: kindClusterSecretStore}

// sister is the kind under which a thing that nothing provides is there by the same name;
// empty where there is none, or where something of which nothing is known goes to its
// namespace and may have it.
func (x *index) sister(missing key) string {
	k := key{Kind: sisters[missing.Kind], Name: missing.Name}
	if k.Kind == "" {
		return ""
	}
	if slices.ContainsFunc(x.hidden, func(h hidden) bool { return x.in.Components[h.component].Namespace == missing.Namespace }) {
		return ""
	}
	if !slices.ContainsFunc(x.provide[k], func(p provider) bool { return p.object != nil }) {
		return ""
	}
	return judged[k.Kind].kind
}

// reads reports whether an object needs a thing.
func (x *index) reads(o *object, k key) (found bool) {
	for _, f := range families {
		if f.requires != nil {
			f.requires(x.world, o, func(n need) { found = found || n.key == k })
		}
	}
	return found
}

// isRead reports whether any object needs a thing.
func (x *index) isRead(k key) bool {
	return slices.ContainsFunc(x.objects, func(of []*object) bool {
		return slices.ContainsFunc(of, func(o *object) bool { return x.reads(o, k) })
	})
}

// listNames lists the names of what is provided, by kind and namespace.
func (x *index) listNames() map[key][]string {
	names := map[key][]string{}
	for k := range x.provide {
		of := key{Kind: k.Kind, Namespace: k.Namespace}
		names[of] = append(names[of], k.Name)
	}
	return names
}

// The shortest words that are compared, and those of which two letters may differ.
const (
	shortWord = 5
	longWord  = 9
)

// slip reports whether one word of two names differs by a letter, or a long one by
// two, or is abbreviated in one of them. Numbers and short words, such as ro and rw, tell
// things apart on purpose, and so do first letters.
func slip(a, b string) bool {
	p, q := words(a), words(b)
	if len(p) != len(q) {
		return false
	}
	slips := 0
	for i := range p {
		v, w := p[i], q[i]
		if v == w {
			continue
		}
		if abbreviations[v] == w || abbreviations[w] == v {
			slips++
			continue
		}
		shorter := min(len(v), len(w))
		if lacksLetter(v, w, len(p)) || lacksLetter(w, v, len(p)) {
			shorter = max(len(v), len(w))
		}
		if shorter < shortWord || v[0] != w[0] || strings.ContainsAny(v+w, "0123456789") {
			return false
		}
		if n := yamldoc.Distance(v, w); n > 2 || n == 2 && shorter < longWord {
			return false
		}
		slips++
	}
	return slips == 1
}

// lacksLetter reports whether a word of a name is another one without a letter within it.
// Without the last one it may be the singular, unless several other words are the same.
func lacksLetter(short, long string, words int) bool {
	last := short[len(short)-1] == long[len(long)-1] || words > 2
	return last && len(short)+1 == len(long) && yamldoc.Distance(short, long) == 1
}

// abbreviations are the words that are often written short.
var abbreviations = map[string]string{
	"cfg": "config", "creds": "credentials", "crt": "cert", "mgmt": "management", "mgr": "manager", "pwd": "password", "svc": "service",
}

// turned reports whether two names are the same words in another order. Of two words both
// orders are good names.
func turned(a, b string) bool {
	p, q := words(a), words(b)
	if a == b || len(p) < 3 || strings.ContainsAny(a, "0123456789") {
		return false
	}
	slices.Sort(p)
	slices.Sort(q)
	return slices.Equal(p, q)
}

func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '.' || r == '_' })
}
