package infer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// miss records a need that nothing provides. Of the things that are often made by
// hand or by programs, only those count that nothing at hand can make.
func (c *collection) miss(o *object, n need) {
	if n.key.Kind == kindNamespace && c.x.renames[o.component] {
		return
	}
	near, sister := c.x.near(o.component, o, n.key), c.x.sister(n.key)
	intended := c.x.wantsNamespace(o.component, n.key)
	doubtful := near == "" && sister == "" && (n.slip || c.x.mayAppear(o, n.key))
	if doubtful && (n.slip || n.key.Kind != kindServiceAccount && n.key.Kind != kindConfigMap && n.key.Kind != kindPVC) || c.x.inOther(n.key) {
		return
	}
	m := dependency.Missing{
		Rule: ruleOf(n.key.Kind), Required: c.x.world.required(n.key), Strength: n.strength, Reason: n.verb,
		Consumer: o.end(c.x.name(o.component)), Evidence: []finding.Evidence{required(o, n.verb, n.field)},
		Managed: c.x.managed(n.key), Near: near, Sister: sister, Doubtful: doubtful,
	}
	switch n.key.Kind {
	case kindKind:
		m.Unrendered = c.x.unlisted
		m.Off, m.OffAt = c.x.offOf(n.key)
	case kindNamespace:
		if !intended {
			m.Unrendered = c.x.makers(n.key.Name)
			break
		}
		m.Managed, m.Unrendered = true, c.x.likelyMakers(n.key.Name)
		at := c.x.in.Components[o.component].At("syncOptions")
		m.Evidence = append(m.Evidence, finding.Evidence{Text: "CreateNamespace=true makes none, since the destination names no namespace", File: at.File, Line: at.Line})
	default:
		m.Unrendered = c.x.mayHold(o, n.key)
	}
	c.record(o.component, m)
}

// wantsNamespace reports whether a component asks for its Namespace to be made by a sync option
// that does nothing, since the destination names none. Source: gitops-engine, pkg/sync, sync,
// which makes a Namespace where the destination has one.
func (x *index) wantsNamespace(component int, k key) bool {
	c := &x.in.Components[component]
	return k.Kind == kindNamespace && c.Namespace == "" && c.HasSyncOption("CreateNamespace=true")
}

// missTold records that nothing makes what the values of a chart name, where there is a
// thing of nearly the same name: alone they say too little.
func (c *collection) missTold(component int, k key, verb string, e finding.Evidence) {
	if strings.Count(c.x.said(component), k.Name) > 1 {
		return // the values may hold it, too
	}
	near := c.x.near(component, nil, k)
	if near == "" || c.x.inOther(k) {
		return
	}
	c.record(component, dependency.Missing{
		Rule: ruleOf(k.Kind), Required: c.x.world.required(k), Strength: plan.Soft, Reason: verb, Near: near,
		Consumer: dependency.End{Component: c.x.name(component), Place: dependency.Place{Hook: 1}, Position: finding.Position{File: e.File, Line: e.Line}}, Evidence: []finding.Evidence{e},
	})
}

// missLanding records that nothing makes the Namespace that a chart of the catalogue lands in.
func (c *collection) missLanding(component int, verb, source string) {
	consumer := &c.x.in.Components[component]
	name := consumer.Namespace
	if c.x.namespaceMayAppear(name) || distributed(name) || ofDistribution(name) || c.x.inOther(namespaceKey(name)) {
		return
	}
	at := consumer.At("namespace")
	c.record(component, dependency.Missing{
		Rule: ruleOf(kindNamespace), Required: c.x.world.required(namespaceKey(name)), Strength: plan.Hard, Reason: verb,
		Consumer: dependency.End{Component: consumer.Name, Place: dependency.Place{Hook: 1}, Position: at}, Evidence: []finding.Evidence{{Text: source + " " + verb, File: at.File, Line: at.Line}},
		Unrendered: c.x.makers(name), Managed: c.x.kinds[kindNamespace],
	})
}

// record keeps one lack for each thing and component, by the first object that has it.
func (c *collection) record(component int, m dependency.Missing) {
	k := crossKey{component, -1, m.Rule, m.Required}
	have, ok := c.missing[k]
	switch {
	case !ok:
		c.missing[k] = m
	case cmp.Or(compareEnds(&m.Consumer, &have.Consumer), strings.Compare(m.Evidence[0].Field, have.Evidence[0].Field)) < 0:
		m.Others = withEnd(have.Others, have.Consumer, m.Consumer)
		c.missing[k] = m
	default:
		have.Others = withEnd(have.Others, m.Consumer, have.Consumer)
		c.missing[k] = have
	}
}

// mayHold are the components of which not all is seen and that may hold a thing which
// nothing at hand does, sorted. What others publish writes its own into the namespace that
// it goes to, but for what its values name; what has the name in another namespace may be
// copied by anything. A ConfigMap that is called as those are that are written into every
// namespace may come from anywhere, and so may Secrets where neither the component makes any
// itself nor the repository keeps those of the namespace.
func (x *index) mayHold(o *object, k key) []string {
	switch k.Kind {
	case kindSecret:
		if len(x.anywhere[k.Name]) > 0 || !x.makesOthers(o.component, k) && !x.keepsSecrets(k.Namespace) {
			return x.unrendered
		}
	case kindConfigMap:
		called := isCalledLike(k.Name, o.name) || isCalledLike(k.Name, x.name(o.component))
		if x.configMaps[k.Name] || !called && (forEveryNamespace(k.Name) || !x.makesOthers(o.component, k)) {
			return x.unrendered
		}
	case kindServiceAccount, kindPVC, kindIssuer, kindClusterIssuer, kindSecretStore, kindClusterSecretStore, kindGateway:
	default:
		return x.unrendered
	}
	out, known := x.holders[k]
	if known {
		return out
	}
	for _, g := range x.gaps {
		if x.mayBeIn(g, k) {
			out = append(out, x.name(g.component))
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	x.holders[k] = out
	return out
}

// makesOthers reports whether objects of a component make other things of a kind in a
// namespace.
func (x *index) makesOthers(component int, k key) bool {
	return x.makes()[made{component, k.Kind, k.Namespace}]
}

// fewSecrets are as many Secrets of a namespace as the repository makes where it keeps them all.
const fewSecrets = 3

// keepsSecrets reports whether objects of the repository make several Secrets in a namespace.
func (x *index) keepsSecrets(namespace string) bool {
	if keeps, known := x.keeps[namespace]; known {
		return keeps
	}
	n := 0
	for _, name := range x.named()[key{Kind: kindSecret, Namespace: namespace}] {
		if slices.ContainsFunc(x.provide[secretKey(namespace, name)], func(p provider) bool { return p.object != nil }) {
			n++
		}
	}
	x.keeps[namespace] = n >= fewSecrets
	return n >= fewSecrets
}

// made is a kind of things in a namespace that a component makes.
type made struct {
	component       int
	kind, namespace string
}

// allMade is what objects make.
func (x *index) allMade() map[made]bool {
	all := map[made]bool{}
	for k, of := range x.provide {
		for _, p := range of {
			if p.object != nil {
				all[made{p.component, k.Kind, k.Namespace}] = true
			}
		}
	}
	return all
}

// mayBeIn reports whether a part that is not rendered may hold a thing. What others publish
// names its own after itself, and puts it where it goes, or where its values say. Of the owner's
// parts charts do so in other namespaces than their own.
func (x *index) mayBeIn(g hidden, k key) bool {
	c, called := &x.in.Components[g.component], x.called(g)
	own := !x.published(g) && (k.Kind != kindPVC || !x.keepsToItself(g))
	if x.says(g.component, k.Name) || own && (!g.Chart || k.Namespace == "" || c.Namespace == "" || c.Namespace == k.Namespace || forNamespaces(called)) {
		return true
	}
	if k.Namespace != "" && c.Namespace == k.Namespace && (!g.Chart || x.isUnlisted(g)) {
		return true
	}
	if k.Namespace == "" && g.Chart && x.isUnlisted(g) && setsUp(called+" "+c.Namespace) {
		return true
	}
	switch k.Kind {
	case kindGateway, kindIssuer, kindClusterIssuer, kindSecretStore, kindClusterSecretStore:
		if !namedAfter(k.Name, called) {
			return false
		}
	default:
		if !shareWord(k.Name, called, minOwnWord) {
			return false
		}
	}
	return k.Namespace == "" || c.Namespace == k.Namespace || g.Chart && c.Namespace == "" || shareWord(k.Namespace, called, minWord) || x.says(g.component, k.Namespace)
}

// isUnlisted reports whether the catalogue does not have a part.
func (x *index) isUnlisted(g hidden) bool { return slices.Contains(x.hidden, g) }

// setsUp reports whether a chart is called, or goes, as those do that set up what a cluster has
// one of: issuers and stores of secrets.
func setsUp(called string) bool {
	return forNamespaces(called) || slices.ContainsFunc([]string{"issuer", "store", "cert-manager", "external-secrets", "config", "extras", "resources", "raw", "manifests"}, func(word string) bool {
		return strings.Contains(called, word)
	})
}

// minOwnWord is the shortest word of a name that may be that of a chart.
const minOwnWord = 3

// namedAfter reports whether all words of a name are of a text, but for those that charts add
// to their own. What people set up beside a chart has a word of theirs.
func namedAfter(name, text string) bool {
	return !slices.ContainsFunc(words(name), func(w string) bool {
		return !strings.Contains(text, w) && !slices.Contains([]string{"gateway", "default", "issuer", "selfsigned", "selfsign", "self", "signed", "ca", "root", "cluster", "http", "https", "store", "secret", "secretstore"}, w)
	})
}

// says reports whether the values of a component have a name as a word of its own.
func (x *index) says(component int, name string) bool {
	all, known := x.vocabulary[component]
	if !known {
		all = map[string]bool{}
		for _, w := range strings.FieldsFunc(x.said(component), func(r rune) bool {
			return r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			all[w] = true
			for _, part := range strings.Split(w, ".") {
				all[part] = true
			}
		}
		x.vocabulary[component] = all
	}
	return all[name]
}

// forEveryNamespace reports whether a ConfigMap is called as those are that programs write
// into many namespaces: bundles of certificates, settings of a mesh or of a proxy.
func forEveryNamespace(name string) bool {
	return slices.ContainsFunc(words(name), func(w string) bool {
		return slices.Contains([]string{"ca", "cert", "certs", "crt", "certificate", "certificates", "trust", "trusted", "truststore", "bundle", "root", "mesh", "istio", "linkerd", "proxy",
			"global", "cluster", "common", "shared", "kube", "openshift", "injected"}, w)
	})
}

// isCalledLike reports whether a name is another one, or begins or ends with it.
func isCalledLike(name, other string) bool {
	return name == other || strings.HasPrefix(name, other+"-") || strings.HasSuffix(name, "-"+other)
}

// said is all text in the values of a component.
func (x *index) said(component int) string {
	text, known := x.texts[component]
	if !known {
		var b strings.Builder
		for _, s := range x.in.Components[component].Sources {
			for _, l := range append(x.layers(s), parameters(s)) {
				writeTexts(&b, l.data)
			}
		}
		text = b.String()
		x.texts[component] = text
	}
	return text
}

// writeTexts writes the keys and texts of a value, one to a line.
func writeTexts(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
	case []any:
		for _, e := range v {
			writeTexts(b, e)
		}
	case map[string]any:
		for key, e := range v {
			b.WriteString(key + "\n")
			writeTexts(b, e)
		}
	}
}

// withEnd adds an object to sorted ones, but for those that are there and the first of all.
func withEnd(others []dependency.End, e, first dependency.End) []dependency.End {
	at, found := slices.BinarySearchFunc(others, e, func(a, b dependency.End) int { return compareEnds(&a, &b) })
	if found || compareEnds(&e, &first) == 0 {
		return others
	}
	return slices.Insert(others, at, e)
}

// managed reports whether the repository provides other things of the kind: of a
// custom kind, others of its group.
func (x *index) managed(k key) bool {
	if k.Kind == kindKind {
		group, _, _ := strings.Cut(k.Name, "/")
		return x.world.groups[group]
	}
	return x.kinds[k.Kind]
}

func (c *collection) sortedMissing() []dependency.Missing {
	var out []dependency.Missing
	for _, m := range c.missing {
		out = append(out, m)
	}
	slices.SortFunc(out, compareMissing)
	return out
}

func compareMissing(a, b dependency.Missing) int {
	return cmp.Or(compareEnds(&a.Consumer, &b.Consumer), strings.Compare(a.Rule, b.Rule), compareResources(a.Required, b.Required))
}

// mayAppear reports whether a thing that no object provides may be made by
// something that is not seen: a program of the component with the right to make
// it, or an operator from a custom resource beside it.
func (x *index) mayAppear(o *object, k key) bool {
	w := x.world
	switch k.Kind {
	case kindSecret, kindConfigMap:
		return w.makesSecrets[o.component] || w.customIn[k.Namespace]
	case kindNamespace:
		return x.namespaceMayAppear(k.Name) || mayBeDistributed(k.Name, o)
	case kindKind:
		group, _, _ := strings.Cut(k.Name, "/")
		return w.registered[group]
	case kindServiceAccount, kindPVC:
		return w.customIn[k.Namespace]
	}
	return false
}

// namespaceMayAppear reports whether an operator makes a namespace, or Argo CD runs in it.
func (x *index) namespaceMayAppear(name string) bool {
	return x.world.customNamed[name] || x.saidByCustom(name) || argoNamespace(name) || slices.Contains(x.in.Existing, name)
}

// saidByCustom reports whether a custom resource of which nobody knows what is made from it
// has the name of a namespace in its spec, and not as the place of something that it names:
// that may be one that its operator makes. What is in the namespace itself comes too late for that.
func (x *index) saidByCustom(namespace string) bool { return x.custom()[namespace] }

// namespacesOfCustom are the namespaces that custom resources elsewhere say.
func (x *index) namespacesOfCustom() map[string]bool {
	said := map[string]bool{}
	for _, of := range x.objects {
		for _, o := range of {
			if !customGroup(o.g) || makesNothing(o.g) || serverKind(o.g) || o.g == "operators.coreos.com" {
				continue
			}
			everywhere(o.root()["spec"], "", "", func(m map[string]any, _, _ string) {
				for field, v := range m {
					if name, ok := v.(string); ok && name != o.namespace() && (strings.HasSuffix(field, "Namespace") || field == "namespace" && m["name"] == nil) {
						said[name] = true
					}
				}
			})
		}
	}
	return said
}
