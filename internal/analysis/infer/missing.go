package infer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// miss records a need that nothing provides. Of the things that are often made by
// hand or by programs, only those count that nothing at hand can make.
func (c *collection) miss(o *object, n need) {
	near, sister := c.x.near(o, n.key), c.x.sister(n.key)
	if near == "" && sister == "" && (n.slip || c.mayAppear(o, n.key)) || c.x.inOther(n.key) {
		return
	}
	m := dependency.Missing{
		Rule: ruleOf(n.key.Kind), Required: c.x.world.required(n.key), Strength: n.strength, Reason: n.verb,
		Consumer: o.end(c.x.name(o.component)), Evidence: []finding.Evidence{required(o, n.verb, n.field)}, Unrendered: c.x.unrendered,
		Managed: c.x.managed(n.key), Near: near, Sister: sister,
	}
	switch n.key.Kind {
	case kindKind:
		m.Unrendered = c.x.unlisted
	case kindNamespace:
		m.Unrendered = c.x.makers(n.key.Name)
	case kindConfigMap:
		m.Unrendered = c.x.mayHold(o, n.key)
	}
	c.record(o.component, m)
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

// mayHold are the components of which not all is seen and that may hold a ConfigMap which
// nothing at hand does, sorted. A chart writes its own into the namespace that it goes to, but
// for what its values name; one of that name in another namespace may be copied by anything,
// and one that is not called like what reads it may be written into every namespace, as the
// certificates of a mesh are.
func (x *index) mayHold(o *object, k key) []string {
	if x.configMaps[k.Name] || !isCalledLike(k.Name, o.name) && !isCalledLike(k.Name, x.name(o.component)) {
		return x.unrendered
	}
	out, known := x.holders[k]
	if known {
		return out
	}
	for _, i := range x.partial {
		c := &x.in.Components[i]
		unknown := func(s model.Source) bool { return s.Kind != model.Chart || s.Incomplete != "" }
		if c.Namespace == "" || c.Namespace == k.Namespace || slices.ContainsFunc(c.Sources, unknown) || strings.Contains(x.said(i), k.Name) || strings.Contains(x.said(i), k.Namespace) {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	x.holders[k] = out
	return out
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
func (c *collection) mayAppear(o *object, k key) bool {
	w := c.x.world
	switch k.Kind {
	case kindSecret, kindConfigMap:
		return w.makesSecrets[o.component] || w.customIn[k.Namespace]
	case kindNamespace:
		return c.x.namespaceMayAppear(k.Name) || mayBeDistributed(k.Name, o)
	case kindServiceAccount, kindPVC:
		return w.customIn[k.Namespace]
	}
	return false
}

// namespaceMayAppear reports whether an operator makes a namespace, or Argo CD runs in it.
func (x *index) namespaceMayAppear(name string) bool {
	return x.world.customNamed[name] || argoNamespace(name) || slices.Contains(x.in.Existing, name)
}
