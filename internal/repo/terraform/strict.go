package terraform

import (
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/rollout-ladder/ladder/internal/repo/appset"
)

// tolerant are the functions whose results are known in part where an argument is.
// done is false for the others.
func (m *module) tolerant(e *hclsyntax.FunctionCallExpr) (v cty.Value, ok, done bool) {
	if e.ExpandFinal {
		return cty.NilVal, false, false
	}
	switch {
	case e.Name == "merge":
		return m.merge(e.Args), true, true
	case e.Name == "read_terragrunt_config" && m.config != nil && len(e.Args) > 0:
		file, ok := m.whole(e.Args[0])
		if !ok {
			return nowhere(e.Range()), true, true
		}
		return m.config(file), true, true
	case e.Name == "tomap" && len(e.Args) == 1:
		v, ok := m.value(e.Args[0])
		return v, ok, true
	case e.Name == "try":
		for _, arg := range e.Args {
			if v, ok := m.value(arg); ok {
				return v, true, true
			}
		}
		return cty.NilVal, false, true
	case e.Name == "lookup" && len(e.Args) == 3:
		of, ok := m.value(e.Args[0])
		key, known := m.value(e.Args[1])
		if !ok || !known {
			return cty.NilVal, false, true
		}
		if v, ok := index(of, key, e.Range()); ok {
			return v, true, true
		}
		v, ok := m.value(e.Args[2])
		return v, ok, true
	default:
		return cty.NilVal, false, false
	}
}

// merge joins objects: the last one of an attribute wins. One that is not known may
// have any attribute.
func (m *module) merge(args []hclsyntax.Expression) cty.Value {
	out := map[string]cty.Value{}
	for _, arg := range args {
		v, ok := m.value(arg)
		if ok && v.IsNull() {
			continue
		}
		if !ok || !v.IsKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
			// What it has may be put over what is known.
			for k := range out {
				if k != openKey {
					out[k] = nowhere(arg.Range())
				}
			}
			out[openKey] = cty.True
			continue
		}
		maps.Copy(out, v.AsValueMap())
	}
	return cty.ObjectVal(out)
}

// strictly evaluates an expression that may decide by what it is given: with the
// defaults of variables, and nothing for what is not known.
func (m *module) strictly(e hclsyntax.Expression) (cty.Value, bool) {
	roots, loop := map[string]map[string]cty.Value{}, map[string]cty.Value{}
	for _, t := range e.Variables() {
		root := t.RootName()
		if v, ok := m.loop[root]; ok {
			loop[root] = m.strict(v)
			continue
		}
		if len(t) < 2 {
			return nowhere(e.Range()), true
		}
		name, ok := t[1].(hcl.TraverseAttr)
		if !ok {
			return nowhere(e.Range()), true
		}
		v := cty.DynamicVal
		if root == "var" || root == "local" || root == "each" {
			given, ok := m.traversal(t[:2])
			if !ok {
				return cty.NilVal, false
			}
			v = m.strict(given)
		}
		if roots[root] == nil {
			roots[root] = map[string]cty.Value{}
		}
		roots[root][name.Name] = v
	}
	scope := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: functions()}
	maps.Copy(scope.Functions, m.own)
	maps.Copy(scope.Variables, loop)
	for root, values := range roots {
		scope.Variables[root] = cty.ObjectVal(values)
	}
	v, problems := e.Value(scope)
	if problems.HasErrors() || v == cty.NilVal || !v.IsWhollyKnown() {
		return nowhere(e.Range()), true
	}
	return v, true
}

// strict is a value in which what is not known is not known to anything that decides
// by it.
func (m *module) strict(v cty.Value) cty.Value {
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		switch {
		case v.IsNull() || !v.IsKnown():
			return v, nil
		case v.Type() == cty.String:
			return m.settled(v), nil
		case v.Type().IsObjectType() && v.Type().HasAttribute(openKey):
			return cty.DynamicVal, nil
		}
		return v, nil
	})
	if err != nil {
		return cty.DynamicVal
	}
	return out
}

// settled is a text with the defaults of its marks; unknown where one has none.
func (m *module) settled(v cty.Value) cty.Value {
	s := v.AsString()
	if m.undecided && appset.IsMarked(s) {
		return cty.DynamicVal // a number would not be equal to a text that is not known
	}
	names := appset.Marks(s)
	if len(names) == 1 && s == appset.Mark(names[0]) {
		if d, ok := m.defaults[names[0]]; ok {
			return d
		}
	}
	s = appset.Fill(s, func(name string) (string, bool) { return asText(m.defaults[name]) })
	if appset.IsMarked(s) {
		return cty.DynamicVal
	}
	return text(s)
}

// ofTexts is a function of two texts.
func ofTexts(holds func(s, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "string", Type: cty.String}, {Name: "part", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(holds(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

// functions are those of Terraform that give the same each time, and read nothing.
func functions() map[string]function.Function {
	return map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "max": stdlib.MaxFunc, "min": stdlib.MinFunc,
		"can": tryfunc.CanFunc, "try": tryfunc.TryFunc,
		"chomp": stdlib.ChompFunc, "format": stdlib.FormatFunc, "join": stdlib.JoinFunc, "lower": stdlib.LowerFunc, "replace": stdlib.ReplaceFunc,
		"split": stdlib.SplitFunc, "substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc,
		"trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc, "upper": stdlib.UpperFunc,
		"coalesce": stdlib.CoalesceFunc, "compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc,
		"distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc, "keys": stdlib.KeysFunc, "length": stdlib.LengthFunc,
		"coalescelist": stdlib.CoalesceListFunc, "formatlist": stdlib.FormatListFunc, "range": stdlib.RangeFunc, "reverse": stdlib.ReverseListFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc,
		"setintersection": stdlib.SetIntersectionFunc, "setsubtract": stdlib.SetSubtractFunc, "setunion": stdlib.SetUnionFunc,
		"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc,
		"startswith": ofTexts(strings.HasPrefix), "endswith": ofTexts(strings.HasSuffix), "strcontains": ofTexts(strings.Contains),
		"lookup": stdlib.LookupFunc, "merge": stdlib.MergeFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
		"jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"tobool": stdlib.MakeToFunc(cty.Bool), "tonumber": stdlib.MakeToFunc(cty.Number), "tostring": stdlib.MakeToFunc(cty.String),
		"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
		"toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	}
}
