package terraform

import (
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/rollout-ladder/ladder/internal/repo/appset"
)

// openKey among the attributes of an object says that there may be more of them.
const openKey = "\uE0A7"

// maxDepth bounds how many expressions may need each other.
const maxDepth = 200

// module is a folder of Terraform with the values of its variables.
type module struct {
	variables map[string]variable
	locals    map[string]hclsyntax.Expression
	// resources are the blocks of resources, by type and name.
	resources map[string]*hclsyntax.Block
	// set are the values that files of variables give.
	set map[string]cty.Value
	// defaults are the values that marks of variables have unless something else sets
	// them, by the name of the mark.
	defaults map[string]cty.Value
	known    map[string]cty.Value // locals that were evaluated
	busy     map[string]bool      // locals that are being evaluated
	depth    int
	// undecided has defaults decide nothing: a choice between two objects gives what both
	// of them have.
	undecided bool
	each      map[string]cty.Value // each.key and each.value of the block at hand
	loop      map[string]cty.Value // the variables of the "for" at hand
	// own are functions that it has beside those of Terraform, and config is what another file of
	// Terragrunt says; nil for Terraform.
	own    map[string]function.Function
	config func(file string) cty.Value
}

// variable is one that the folder declares.
type variable struct {
	value     cty.Value // the default; cty.NilVal for none
	sensitive bool
	optional  bool // its type has attributes with defaults of their own
	many      bool // it is a map of such objects
}

func text(s string) cty.Value { return cty.StringVal(s) }

// unknown is the mark of what an expression is, by its name.
func unknown(name string) cty.Value { return text(appset.Mark(name)) }

// nowhere is the mark of an expression without a name: its place.
func nowhere(r hcl.Range) cty.Value {
	return unknown(fmt.Sprintf("%s-%d-%d", path.Base(r.Filename), r.Start.Line, r.Start.Column))
}

// value evaluates an expression. ok is false where Terraform would refuse it, as it
// does an attribute that is not there.
func (m *module) value(e hclsyntax.Expression) (v cty.Value, ok bool) {
	if m.depth++; m.depth > maxDepth {
		m.depth--
		return nowhere(e.Range()), true
	}
	defer func() { m.depth-- }()
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return m.value(e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return m.value(e.Wrapped)
	case *hclsyntax.LiteralValueExpr:
		return e.Val, true
	case *hclsyntax.TemplateExpr:
		return m.template(e), true
	case *hclsyntax.ObjectConsExpr:
		return m.object(e), true
	case *hclsyntax.ScopeTraversalExpr:
		return m.traversal(e.Traversal)
	case *hclsyntax.RelativeTraversalExpr:
		of, ok := m.value(e.Source)
		if !ok {
			return cty.NilVal, false
		}
		return m.steps(of, e.Traversal, e.Range())
	case *hclsyntax.IndexExpr:
		of, ok := m.value(e.Collection)
		key, known := m.value(e.Key)
		if !ok || !known {
			return cty.NilVal, false
		}
		return index(of, key, e.Range())
	case *hclsyntax.ConditionalExpr:
		if m.undecided {
			if v, ok := m.strictly(e.Condition); ok && v.Type() == cty.Bool && !v.IsNull() {
				if v.True() {
					return m.value(e.TrueResult)
				}
				return m.value(e.FalseResult)
			}
			one, ok := m.value(e.TrueResult)
			other, known := m.value(e.FalseResult)
			if !ok || !known {
				return nowhere(e.Range()), true
			}
			return either(one, other, e.Range()), true
		}
	case *hclsyntax.ForExpr:
		if v, ok := m.forObject(e); ok {
			return v, true
		}
	case *hclsyntax.FunctionCallExpr:
		if v, ok, done := m.tolerant(e); done {
			return v, ok
		}
	}
	return m.strictly(e)
}

// template puts the parts of a text together.
func (m *module) template(e *hclsyntax.TemplateExpr) cty.Value {
	var b strings.Builder
	for _, part := range e.Parts {
		v, ok := m.value(part)
		if !ok {
			return nowhere(e.Range())
		}
		s, ok := asText(v)
		if !ok {
			return nowhere(e.Range())
		}
		b.WriteString(s)
	}
	return text(b.String())
}

// object evaluates the attributes of an object each by itself: one that is not known
// makes the others no less known.
func (m *module) object(e *hclsyntax.ObjectConsExpr) cty.Value {
	out := map[string]cty.Value{}
	for _, item := range e.Items {
		key := keyOf(item.KeyExpr)
		if key == "" {
			v, ok := m.value(item.KeyExpr)
			if s, is := asText(v); ok && is && !appset.IsMarked(s) {
				key = s
			}
		}
		if key == "" {
			out[openKey] = cty.True
			continue
		}
		v, ok := m.value(item.ValueExpr)
		if !ok {
			v = nowhere(item.ValueExpr.Range())
		}
		out[key] = v
	}
	return cty.ObjectVal(out)
}

// forObject evaluates a "for" that makes an object of another one, each attribute by itself. ok is
// false where it is not known which attributes there are.
func (m *module) forObject(e *hclsyntax.ForExpr) (cty.Value, bool) {
	of, ok := m.value(e.CollExpr)
	if e.KeyExpr == nil || e.Group || !ok || of.IsNull() || !of.IsKnown() || !of.Type().IsObjectType() && !of.Type().IsMapType() {
		return cty.NilVal, false
	}
	before := m.loop
	defer func() { m.loop = before }()
	out := map[string]cty.Value{}
	for name, item := range of.AsValueMap() {
		if name == openKey {
			out[openKey] = cty.True
			continue
		}
		m.loop = maps.Clone(before)
		if m.loop == nil {
			m.loop = map[string]cty.Value{}
		}
		m.loop[e.ValVar] = item
		if e.KeyVar != "" {
			m.loop[e.KeyVar] = text(name)
		}
		if e.CondExpr != nil {
			on, ok := m.strictly(e.CondExpr)
			if !ok || on.IsNull() || on.Type() != cty.Bool {
				return cty.NilVal, false
			}
			if on.False() {
				continue
			}
		}
		key, ok := m.whole(e.KeyExpr)
		if !ok {
			return cty.NilVal, false
		}
		v, ok := m.value(e.ValExpr)
		if !ok {
			v = nowhere(e.ValExpr.Range())
		}
		out[key] = v
	}
	return cty.ObjectVal(out), true
}

// keyOf is the name of an attribute that is written as one.
func keyOf(e hclsyntax.Expression) string {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok && !k.ForceNonLiteral {
		return hcl.ExprAsKeyword(k.Wrapped)
	}
	return ""
}

// traversal follows a path of names: var.a.b, local.c["d"], module.e.f.
func (m *module) traversal(t hcl.Traversal) (cty.Value, bool) {
	root := t.RootName()
	if v, ok := m.loop[root]; ok {
		return m.steps(v, t[1:], t.SourceRange())
	}
	if len(t) < 2 {
		return unknown(root), true
	}
	name, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		return nowhere(t.SourceRange()), true
	}
	var v cty.Value
	switch root {
	case "var":
		v, ok = m.variable(name.Name)
	case "local":
		v, ok = m.local(name.Name)
	case "each":
		v, ok = m.each[name.Name]
		if !ok {
			return unknown("each." + name.Name), true
		}
	default:
		if a := m.named(t); a != nil {
			return m.value(a.Expr)
		}
		// What else providers, resources and other modules give is not in the files.
		return unknown(written(t)), true
	}
	if !ok {
		return cty.NilVal, false
	}
	return m.steps(v, t[2:], t.SourceRange())
}

// named is the attribute that a reference to the name of an object means, which another resource of
// the module makes: kubernetes_namespace.x.metadata[0].name. It is nil for anything else.
func (m *module) named(t hcl.Traversal) *hclsyntax.Attribute {
	if len(t) != 5 {
		return nil
	}
	name, ok := t[1].(hcl.TraverseAttr)
	metadata, is := t[2].(hcl.TraverseAttr)
	_, first := t[3].(hcl.TraverseIndex)
	field, attr := t[4].(hcl.TraverseAttr)
	b := m.resources[t.RootName()+"."+name.Name]
	if !ok || !is || !first || !attr || metadata.Name != "metadata" || field.Name != "name" && field.Name != "namespace" || b == nil {
		return nil
	}
	if b.Body.Attributes["count"] != nil || b.Body.Attributes["for_each"] != nil {
		return nil
	}
	for _, inner := range b.Body.Blocks {
		if inner.Type == "metadata" {
			return inner.Body.Attributes[field.Name]
		}
	}
	return nil
}

// steps follows the rest of a path from a value on.
func (m *module) steps(v cty.Value, t hcl.Traversal, at hcl.Range) (cty.Value, bool) {
	for _, step := range t {
		var ok bool
		switch step := step.(type) {
		case hcl.TraverseAttr:
			v, ok = index(v, text(step.Name), at)
		case hcl.TraverseIndex:
			v, ok = index(v, step.Key, at)
		default:
			return nowhere(at), true
		}
		if !ok {
			return cty.NilVal, false
		}
	}
	return v, true
}

// written is a path of names as text.
func written(t hcl.Traversal) string {
	var parts []string
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			parts = append(parts, step.Name)
		case hcl.TraverseAttr:
			parts = append(parts, step.Name)
		case hcl.TraverseIndex:
			if s, ok := asText(step.Key); ok {
				parts = append(parts, s)
			}
		}
	}
	return strings.Join(parts, ".")
}

// index is one attribute or element. ok is false where there is none.
func index(of, key cty.Value, at hcl.Range) (cty.Value, bool) {
	if of == cty.NilVal || of.IsNull() || !of.IsKnown() {
		return nowhere(at), true
	}
	k, isText := asText(key)
	if !isText || appset.IsMarked(k) {
		return nowhere(at), true
	}
	typ := of.Type()
	switch {
	case typ == cty.String:
		if names := appset.Marks(of.AsString()); len(names) == 1 && of.AsString() == appset.Mark(names[0]) {
			return unknown(names[0] + "." + k), true
		}
		return cty.NilVal, false
	case typ.IsObjectType() || typ.IsMapType():
		all := of.AsValueMap()
		if v, ok := all[k]; ok {
			return v, true
		}
		if _, open := all[openKey]; open {
			return nowhere(at), true
		}
		return cty.NilVal, false
	default:
		if n, err := convert.Convert(key, cty.Number); err == nil && of.HasIndex(n).IsKnown() && of.HasIndex(n).True() {
			return of.Index(n), true
		}
		return cty.NilVal, false
	}
}

// variable is the value of one: of a file of variables, or a mark that has the default.
func (m *module) variable(name string) (cty.Value, bool) {
	declared, ok := m.variables[name]
	if !ok {
		return cty.NilVal, false
	}
	switch v, set := m.set[name]; {
	case declared.sensitive:
		return unknown("var." + name), true
	case set:
		return declared.opened(v), true
	case declared.value == cty.NilVal:
		return unknown("var." + name), true
	case m.undecided && !declared.value.Type().IsPrimitiveType():
		return unknown("var." + name), true
	default:
		return declared.opened(m.defaulted("var."+name, declared.value)), true
	}
}

// opened is a value of a variable, in which optional attributes may be added.
func (d variable) opened(v cty.Value) cty.Value {
	if !d.many || v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() {
		return opened(v, d.optional)
	}
	all := v.AsValueMap()
	for k, item := range all {
		all[k] = opened(item, d.optional)
	}
	return cty.ObjectVal(all)
}

// opened adds to an object that there may be more in it.
func opened(v cty.Value, open bool) cty.Value {
	if !open || v.IsNull() || !v.Type().IsObjectType() {
		return v
	}
	all := v.AsValueMap()
	if all == nil {
		all = map[string]cty.Value{}
	}
	all[openKey] = cty.True
	return cty.ObjectVal(all)
}

// defaulted puts marks for the default of a variable: who applies the folder may set
// another one.
func (m *module) defaulted(name string, v cty.Value) cty.Value {
	switch {
	case v.IsNull() || !v.IsKnown():
		return v
	case v.Type().IsPrimitiveType():
		m.defaults[name] = v
		return unknown(name)
	case v.Type().IsObjectType():
		all := v.AsValueMap()
		for k, item := range all {
			all[k] = m.defaulted(name+"."+k, item)
		}
		return cty.ObjectVal(all)
	default:
		return v
	}
}

// local is the value of a local one.
func (m *module) local(name string) (cty.Value, bool) {
	if v, ok := m.known[name]; ok {
		return v, true
	}
	e, ok := m.locals[name]
	if !ok || m.busy[name] {
		return cty.NilVal, false
	}
	m.busy[name] = true
	v, ok := m.value(e)
	delete(m.busy, name)
	if !ok {
		v = unknown("local." + name)
	}
	m.known[name] = v
	return v, true
}

// asText is a value as text; ok is false where it is none.
func asText(v cty.Value) (string, bool) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return "", false
	}
	s, err := convert.Convert(v, cty.String)
	if err != nil || s.IsNull() || !s.IsKnown() {
		return "", false
	}
	return s.AsString(), true
}
