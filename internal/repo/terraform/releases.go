package terraform

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
)

// maxChoices is how many texts a choice may be between: choices between choices double them.
const maxChoices = 64

// OfChart asks for the releases of one chart by its name, or of all that are folders of the
// repository.
type OfChart struct {
	Folder
	Chart string `json:"chart"`
	Local bool   `json:"local"`
}

// Release is one release of a chart that a folder installs.
type Release struct {
	// Chart is as it is written: a name, an address that ends in it, or a folder.
	Chart string `json:"chart"`
	// Folder is that of a chart in the repository.
	Folder string `json:"folder"`
	// Repository and Version are as they are written, empty where they are not.
	Repository string  `json:"repository"`
	Version    string  `json:"version"`
	Name       string  `json:"name"`
	Namespace  string  `json:"namespace"`
	Values     []Value `json:"values"`
	// Set are the values that are given one by one.
	Set []Pair `json:"set"`
	// Open says that there may be other values.
	Open     bool             `json:"open"`
	Position finding.Position `json:"position"`
}

// Value is one text of values.
type Value struct {
	// Text is YAML in which marks stand for what is not known; of an object that may have
	// more in it, a key is one.
	Text string `json:"text"`
	// File is one of the repository that holds the text instead, or a template of it.
	File     string           `json:"file"`
	Position finding.Position `json:"position"`
}

// Pair is a value by its path.
type Pair struct {
	Name     string           `json:"name"`
	Value    string           `json:"value"`
	Position finding.Position `json:"position"`
}

// Releases reads the releases of a chart that a folder installs. Nothing but the name of the chart
// is taken to be as the defaults of variables have it: of a choice what each way has is there.
func Releases(of OfChart) ([]Release, error) {
	m, blocks, err := load(of.Folder)
	if err != nil {
		return nil, err
	}
	m.undecided = true
	var all []Release
	for _, b := range blocks {
		if b.Type != "resource" || len(b.Labels) != 2 || b.Labels[0] != "helm_release" {
			continue
		}
		folder := m.chartFolder(b.Body)
		if of.Local != (folder != "") || !of.Local && path.Base(m.filled(b.Body, "chart")) != of.Chart {
			continue
		}
		if r, ok := m.release(b); ok {
			r.Folder = folder
			all = append(all, r)
		}
	}
	return all, nil
}

// literal is the text of an attribute, with marks; empty where there is none.
func (m *module) literal(b *hclsyntax.Body, name string) string {
	a := b.Attributes[name]
	if a == nil {
		return ""
	}
	v, ok := m.value(a.Expr)
	if !ok {
		v = nowhere(a.Expr.Range())
	}
	s, _ := asText(v)
	return s
}

// secretSet sets values that are secret.
const secretSet = "set_sensitive"

// chartFolder is the folder of the repository that holds the chart of a release; empty where it
// is none.
func (m *module) chartFolder(b *hclsyntax.Body) string {
	a := b.Attributes["chart"]
	if text := m.literal(b, "chart"); a == nil || !strings.HasPrefix(text, ".") && !appset.IsMarked(text) {
		return ""
	}
	folder, _ := m.file(a.Expr)
	return folder
}

// release reads a block. Secret values of a chart in the repository are left out: what it makes
// of them is shown. Source: the provider helm, helm_release.
func (m *module) release(b *hclsyntax.Block) (Release, bool) {
	r := Release{
		Chart: m.filled(b.Body, "chart"), Repository: m.literal(b.Body, "repository"), Version: m.literal(b.Body, "version"),
		Name: m.literal(b.Body, "name"), Namespace: m.literal(b.Body, "namespace"), Position: position(b.TypeRange),
	}
	local := m.chartFolder(b.Body) != ""
	if r.Chart == "" || !local && (appset.IsMarked(r.Chart) || strings.HasPrefix(r.Chart, ".") || strings.HasPrefix(r.Chart, "/")) {
		return r, false
	}
	if m.isNone(b) {
		return r, false
	}
	if a := b.Body.Attributes["values"]; a != nil {
		m.texts(a.Expr, &r)
	}
	for _, name := range []string{"set", "set_list", secretSet} {
		if a := b.Body.Attributes[name]; a != nil && (!local || name != secretSet) {
			m.sets(a.Expr, &r)
		}
	}
	for _, inner := range b.Body.Blocks {
		if local && inner.Type == secretSet {
			continue
		}
		switch inner.Type {
		case "set", "set_list", secretSet:
			r.set(Pair{Name: m.literal(inner.Body, "name"), Value: m.literal(inner.Body, "value"), Position: position(inner.TypeRange)})
		case "dynamic":
			r.Open = true
		}
	}
	return r, true
}

func position(r hcl.Range) finding.Position {
	return finding.Position{File: r.Filename, Line: r.Start.Line}
}

// set adds a value by its path.
func (r *Release) set(p Pair) {
	if p.Name == "" || appset.IsMarked(p.Name) {
		r.Open = true
		return
	}
	r.Set = append(r.Set, p)
}

// sets reads values by their paths in a list of objects.
func (m *module) sets(e hclsyntax.Expression, r *Release) {
	list, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		r.Open = true
		return
	}
	for _, item := range list.Exprs {
		v, ok := m.value(item)
		if !ok || v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() {
			r.Open = true
			continue
		}
		given := v.AsValueMap()
		name, _ := asText(given["name"])
		value, _ := asText(given["value"])
		r.set(Pair{Name: name, Value: value, Position: position(item.Range())})
	}
}

// texts reads a list of texts of values.
func (m *module) texts(e hclsyntax.Expression, r *Release) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		m.texts(e.Expression, r)
	case *hclsyntax.TupleConsExpr:
		for _, item := range e.Exprs {
			v, ok := m.text(item)
			r.Values, r.Open = append(r.Values, v...), r.Open || !ok
		}
	default:
		r.Open = true
	}
}

// text reads one text of values; ok is false where it may be any.
func (m *module) text(e hclsyntax.Expression) (all []Value, ok bool) {
	at := position(e.Range())
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return m.text(e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return m.text(e.Wrapped)
	case *hclsyntax.ScopeTraversalExpr:
		if name, ok := m.localOf(e.Traversal); ok {
			m.busy[name] = true
			defer delete(m.busy, name)
			return m.text(m.locals[name])
		}
	case *hclsyntax.ConditionalExpr:
		yes, ok := m.text(e.TrueResult)
		if !ok || len(yes) > maxChoices {
			return nil, false
		}
		no, ok := m.text(e.FalseResult)
		return append(yes, no...), ok
	case *hclsyntax.FunctionCallExpr:
		switch {
		case len(e.Args) == 1 && (e.Name == "yamlencode" || e.Name == "jsonencode"):
			v, ok := m.value(e.Args[0])
			if !ok {
				return nil, false
			}
			text, ok := encoded(v)
			return one(Value{Text: text, Position: at}, ok)
		case len(e.Args) > 0 && (e.Name == "file" || e.Name == "templatefile"):
			file, ok := m.file(e.Args[0])
			return one(Value{File: file, Position: at}, ok)
		}
	}
	v, ok := m.value(e)
	s, is := asText(v)
	if names := appset.Marks(s); !ok || !is || len(names) == 1 && s == appset.Mark(names[0]) {
		return nil, false
	}
	return []Value{{Text: s, Position: at}}, true
}

// one is a value alone, or none.
func one(v Value, ok bool) ([]Value, bool) {
	if !ok {
		return nil, false
	}
	return []Value{v}, true
}

// localOf is the name of a local value that is named as a whole, and is not being read
// already.
func (m *module) localOf(t hcl.Traversal) (string, bool) {
	if len(t) != 2 || t.RootName() != "local" {
		return "", false
	}
	name, ok := t[1].(hcl.TraverseAttr)
	if !ok || m.busy[name.Name] || m.locals[name.Name] == nil {
		return "", false
	}
	return name.Name, true
}

// file is a file of the repository that an argument names.
func (m *module) file(e hclsyntax.Expression) (string, bool) {
	v, ok := m.value(e)
	s, is := asText(v)
	if !ok || !is {
		return "", false
	}
	for _, root := range []string{"path.module", "path.root", "path.cwd"} {
		s = strings.TrimPrefix(s, appset.Mark(root)+"/")
	}
	file := path.Join(path.Dir(e.Range().Filename), s)
	if appset.IsMarked(s) || path.IsAbs(s) || strings.HasPrefix(file, "../") {
		return "", false
	}
	return file, true
}

// encoded is a value as JSON, which is YAML: what is not known of it is a mark.
func encoded(v cty.Value) (string, bool) {
	v, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		switch {
		case !v.IsKnown():
			return text(appset.Mark("more")), nil
		case !v.IsNull() && v.Type().IsObjectType() && v.Type().HasAttribute(openKey):
			all := v.AsValueMap()
			delete(all, openKey)
			all[appset.Mark("more")] = cty.True
			return cty.ObjectVal(all), nil
		}
		return v, nil
	})
	if err != nil {
		return "", false
	}
	data, err := json.Marshal(ctyjson.SimpleJSONValue{Value: v})
	return string(data), err == nil
}

// either is what a choice may give: of two objects all attributes, of which a text that
// differs is not known.
func either(one, other cty.Value, at hcl.Range) cty.Value {
	isObject := func(v cty.Value) bool {
		return v != cty.NilVal && !v.IsNull() && v.IsKnown() && (v.Type().IsObjectType() || v.Type().IsMapType())
	}
	if one.RawEquals(other) {
		return one
	}
	if !isObject(one) || !isObject(other) {
		return nowhere(at)
	}
	all := one.AsValueMap()
	if all == nil {
		all = map[string]cty.Value{}
	}
	for k, v := range other.AsValueMap() {
		if have, ok := all[k]; ok {
			v = either(have, v, at)
		}
		all[k] = v
	}
	return cty.ObjectVal(all)
}
