package infer

import (
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// near is the name of what is there in place of a thing that nothing provides, where
// the two differ as a slip of the pen does; empty where there is none. What belongs to
// a namespace is looked for in the component that needs it, and elsewhere where a letter is
// missing or swapped, or nothing says its name: also where the two have the same words
// then, or one has a word more. The object that needs it
// is nil where the values of a chart do.
func (x *index) near(component int, o *object, missing key) string {
	class := false
	switch missing.Kind {
	case kindSecret, kindConfigMap, kindServiceAccount, kindPVC, kindIssuer, kindClusterIssuer, kindSecretStore, kindClusterSecretStore, kindService, kindGateway:
	case kindNamespace:
		if o == nil || x.mayAppear(o, missing) {
			return ""
		}
		class = true
	case kindIngressClass, kindGatewayClass, kindStorageClass, kindPriorityClass, kindRuntimeClass, kindVolume:
		class = true
	default:
		if !strings.HasPrefix(missing.Kind, kindInstance) {
			return ""
		}
	}
	// A word more says less than that something else may make the thing.
	doubtful := sync.OnceValue(func() bool {
		return o != nil && (x.mayAppear(o, missing) || len(x.mayHold(o, missing)) > 0) || o == nil && x.world.customIn[missing.Namespace]
	})
	var all []string
	for _, name := range x.named()[key{Kind: missing.Kind, Namespace: missing.Namespace}] {
		k := missing
		k.Name = name
		unsaid := turned(name, missing.Name) || extends(name, missing.Name) && !class
		if !unsaid && !slip(name, missing.Name) || o != nil && x.reads(o, k) || unsaid && (x.isSaid(k) || !turned(name, missing.Name) && doubtful()) {
			continue
		}
		if slices.ContainsFunc(x.provide[k], func(p provider) bool {
			return (p.object != nil || class) && (unsaid || k.Namespace == "" || p.component == component || (oneLetter(name, missing.Name) || !x.isSaid(k)) && !doubtful())
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

// isSaid reports whether anything but what provides a thing says its name: an object
// where it is, or the values of a chart that goes there.
func (x *index) isSaid(k key) bool {
	by := x.sayings()[k.Name]
	if len(by) == maxSayings || slices.ContainsFunc(by, func(o *object) bool {
		return (k.Namespace == "" || o.namespace() == "" || o.namespace() == k.Namespace) && !slices.ContainsFunc(x.provide[k], func(p provider) bool { return p.object == o })
	}) {
		return true
	}
	for i := range x.in.Components {
		if (k.Namespace == "" || x.in.Components[i].Namespace == k.Namespace) && x.says(i, k.Name) {
			return true
		}
	}
	return false
}

// maxSayings bounds how many objects are kept that say a text: a text of more is common.
const maxSayings = 8

// allSayings are the objects that say a text anywhere, by that.
func (x *index) allSayings() map[string][]*object {
	all := map[string][]*object{}
	for _, of := range x.objects {
		for _, o := range of {
			eachText(o.root(), func(text string) {
				if by := all[text]; len(by) < maxSayings && !slices.Contains(by, o) {
					all[text] = append(by, o)
				}
			})
		}
	}
	return all
}

// eachText visits the texts of a value, but for its keys.
func eachText(v any, visit func(string)) {
	switch v := v.(type) {
	case string:
		visit(v)
	case []any:
		for _, e := range v {
			eachText(e, visit)
		}
	case map[string]any:
		for _, e := range v {
			eachText(e, visit)
		}
	}
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
		return fused(a, b) || fused(b, a)
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

// oneLetter reports whether one of two names lacks a letter of the other, or two letters of
// it are swapped. Another letter in the place of one tells things apart more often.
func oneLetter(a, b string) bool {
	if yamldoc.Distance(a, b) != 1 {
		return false
	}
	p, q := []byte(a), []byte(b)
	slices.Sort(p)
	slices.Sort(q)
	return len(a) != len(b) || slices.Equal(p, q)
}

// fused reports whether one name is another without a hyphen or dot between two words, of
// which not both are numbers there: longhorn3 for longhorn-3.
func fused(without, with string) bool {
	if len(without)+1 != len(with) || len(without) < longWord {
		return false
	}
	for i := 1; i < len(without); i++ {
		if (with[i] == '-' || with[i] == '.') && with[:i] == without[:i] && with[i+1:] == without[i:] {
			return !isDigit(with[i-1]) || !isDigit(with[i+1])
		}
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// lacksLetter reports whether a word of a name is another one without a letter within it.
// Without the last one it may be the singular, unless several other words are the same.
func lacksLetter(short, long string, words int) bool {
	last := short[len(short)-1] == long[len(long)-1] || words > 2
	return last && len(short)+1 == len(long) && yamldoc.Distance(short, long) == 1
}

// abbreviations are the words that are often written short.
var abbreviations = map[string]string{
	"cfg": "config", "conf": "config", "creds": "credentials", "crt": "cert", "mgmt": "management", "mgr": "manager", "prod": "production", "pwd": "password", "svc": "service",
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

// extends reports whether one of two names is the other with a word behind it that says only
// what such a thing is: what is called otherwise is another thing. Of one word both are good names.
func extends(a, b string) bool {
	p, q := words(a), words(b)
	if len(p) > len(q) {
		p, q = q, p
	}
	return len(p) > 1 && len(p)+1 == len(q) && slices.Equal(p, q[:len(p)]) && slices.Contains(fillers, q[len(p)])
}

// fillers are words that say what a thing is.
var fillers = []string{
	"secret", "secrets", "credential", "credentials", "creds", "password", "passwords", "auth", "token", "config", "configmap", "cm", "settings", "env", "vars",
	"pvc", "claim", "data", "volume", "sa", "account", "gateway", "issuer", "store",
}

func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '.' || r == '_' })
}
