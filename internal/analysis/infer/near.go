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
	case kindSecret, kindConfigMap, kindServiceAccount, kindPVC, kindIssuer, kindClusterIssuer, kindSecretStore, kindClusterSecretStore:
	default:
		return ""
	}
	var all []string
	for _, name := range x.named()[key{Kind: missing.Kind, Namespace: missing.Namespace}] {
		k := missing
		reordered := turned(name, missing.Name)
		if k.Name = name; !reordered && !slip(name, missing.Name) {
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
// two, or is abbreviated in one of them. Numbers and short words, such as ro and rw, tell things apart on purpose, and
// so do first letters.
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
		if abbreviates(v, w) || abbreviates(w, v) {
			slips++
			continue
		}
		shorter := min(len(v), len(w))
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

// abbreviates reports whether a word is another one without its vowels and some of its
// consonants, from its first letter to its last: cfg for config.
func abbreviates(short, long string) bool {
	if len(short) < 3 || len(short) >= len(long) || strings.ContainsAny(short[1:], "aeiou0123456789") || short[0] != long[0] || short[len(short)-1] != long[len(long)-1] {
		return false
	}
	rest := long
	for _, letter := range short {
		_, after, found := strings.Cut(rest, string(letter))
		if !found {
			return false
		}
		rest = after
	}
	return true
}

// turned reports whether two names are the same words in another order.
func turned(a, b string) bool {
	p, q := words(a), words(b)
	if a == b || strings.ContainsAny(a, "0123456789") {
		return false
	}
	slices.Sort(p)
	slices.Sort(q)
	return slices.Equal(p, q)
}

func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '.' || r == '_' })
}
