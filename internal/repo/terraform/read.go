package terraform

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
)

// File is one of a folder.
type File struct {
	Path    string `json:"path"`
	Content []byte `json:"content"`
}

// Folder is a folder of Terraform that somebody applies.
type Folder struct {
	// Files are those of the folder itself.
	Files []File `json:"files"`
	// Variables are the files of variables of one run, in their order.
	Variables []File `json:"variables"`
}

// Cluster is one that a folder registers with Argo CD.
type Cluster struct {
	appset.Cluster
	// Defaults are the values of marks that hold unless who applies the folder sets
	// others.
	Defaults map[string]string `json:"defaults"`
}

// maxClusters is how many clusters one block may make.
const maxClusters = 200

// What makes a cluster of a Secret. Source: Argo CD, "Declarative Setup", clusters.
const (
	typeLabel   = "argocd.argoproj.io/secret-type"
	typeCluster = "cluster"
)

// Read reads the clusters of a folder. A file that is no Terraform is an error, as it is
// for who applies the folder; one of variables, which may be encrypted, says nothing.
func Read(f Folder) ([]Cluster, error) {
	m, blocks, err := load(f)
	if err != nil {
		return nil, err
	}
	var all []Cluster
	for _, b := range blocks {
		all = append(all, m.clusters(b)...)
	}
	slices.SortStableFunc(all, func(a, b Cluster) int {
		return cmp.Or(strings.Compare(a.Position.File, b.Position.File), cmp.Compare(a.Position.Line, b.Position.Line), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}

// load reads the files of a folder, and gives its blocks.
func load(f Folder) (*module, []*hclsyntax.Block, error) {
	var bodies []*hclsyntax.Body
	for _, file := range f.Files {
		body, err := parse(file)
		if err != nil {
			return nil, nil, err
		}
		bodies = append(bodies, body)
	}
	m, blocks := newModule(bodies, valuesOf(f.Variables))
	return m, blocks, nil
}

// newModule is a folder by its files, with the values that are set of its variables.
func newModule(bodies []*hclsyntax.Body, set map[string]cty.Value) (*module, []*hclsyntax.Block) {
	m := &module{
		variables: map[string]variable{}, locals: map[string]hclsyntax.Expression{}, set: set,
		defaults: map[string]cty.Value{}, known: map[string]cty.Value{}, busy: map[string]bool{},
		resources: map[string]*hclsyntax.Block{},
	}
	var blocks []*hclsyntax.Block
	for _, body := range bodies {
		for _, b := range body.Blocks {
			m.declare(b)
			blocks = append(blocks, b)
		}
	}
	return m, blocks
}

// valuesOf are the values that files of variables set; the last one counts.
func valuesOf(files []File) map[string]cty.Value {
	set := map[string]cty.Value{}
	for _, file := range files {
		if body, err := parse(file); err == nil {
			for name, a := range body.Attributes {
				if v, problems := a.Expr.Value(nil); !problems.HasErrors() {
					set[name] = v
				}
			}
		}
	}
	return set
}

// SyntaxError is a file that is no Terraform. It quotes nothing of the file, which may be secret.
type SyntaxError struct {
	Position finding.Position `json:"position"`
	Summary  string           `json:"summary"`
}

func (e *SyntaxError) Error() string { return e.Position.String() + ": " + e.Summary }

// parse reads a file. Its error is a *SyntaxError.
func parse(file File) (*hclsyntax.Body, error) {
	parsed, problems := hclsyntax.ParseConfig(file.Content, file.Path, hcl.InitialPos)
	for _, p := range problems {
		if p.Severity == hcl.DiagError && p.Subject != nil {
			return nil, &SyntaxError{finding.Position{File: file.Path, Line: p.Subject.Start.Line}, p.Summary}
		}
	}
	none := &SyntaxError{finding.Position{File: file.Path, Line: 1}, "it is no Terraform"}
	if problems.HasErrors() || parsed == nil {
		return nil, none
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok {
		return nil, none
	}
	return body, nil
}

// declare notes the variables and locals of a block.
func (m *module) declare(b *hclsyntax.Block) {
	switch {
	case b.Type == "resource" && len(b.Labels) == 2:
		m.resources[b.Labels[0]+"."+b.Labels[1]] = b
	case b.Type == "locals":
		for name, a := range b.Body.Attributes {
			m.locals[name] = a.Expr
		}
	case b.Type == "variable" && len(b.Labels) == 1:
		v := variable{value: cty.NilVal}
		if a := b.Body.Attributes["default"]; a != nil {
			if d, problems := a.Expr.Value(&hcl.EvalContext{Functions: functions()}); !problems.HasErrors() {
				v.value = d
			}
		} else {
			v.value = onlyOne(b.Body.Blocks)
		}
		if a := b.Body.Attributes["sensitive"]; a != nil {
			on, problems := a.Expr.Value(nil)
			v.sensitive = problems.HasErrors() || on.Type() != cty.Bool || on.IsNull() || on.True()
		}
		if a := b.Body.Attributes["type"]; a != nil {
			outer, ok := a.Expr.(*hclsyntax.FunctionCallExpr)
			v.many = ok && outer.Name == "map"
			_ = hclsyntax.VisitAll(a.Expr, func(n hclsyntax.Node) hcl.Diagnostics {
				call, ok := n.(*hclsyntax.FunctionCallExpr)
				v.optional = v.optional || ok && call.Name == "optional"
				return nil
			})
		}
		m.variables[b.Labels[0]] = v
	}
}

// onlyOne is the value of a variable without a default whose validation allows no other:
// condition = contains(["dev"], var.environment).
func onlyOne(blocks hclsyntax.Blocks) cty.Value {
	for _, b := range blocks {
		a := b.Body.Attributes["condition"]
		if b.Type != "validation" || a == nil {
			continue
		}
		call, ok := a.Expr.(*hclsyntax.FunctionCallExpr)
		if !ok || call.Name != "contains" || len(call.Args) != 2 {
			continue
		}
		list, problems := call.Args[0].Value(nil)
		if _, isVariable := call.Args[1].(*hclsyntax.ScopeTraversalExpr); !isVariable || problems.HasErrors() || !list.CanIterateElements() || list.LengthInt() != 1 {
			continue
		}
		return list.AsValueSlice()[0]
	}
	return cty.NilVal
}

// clusters are those that a block makes, for each of its instances.
func (m *module) clusters(b *hclsyntax.Block) []Cluster {
	make := m.bridge
	switch {
	case b.Type == "module" && b.Body.Attributes["cluster"] != nil:
	case b.Type == "resource" && len(b.Labels) == 2 && (b.Labels[0] == "kubernetes_secret" || b.Labels[0] == "kubernetes_secret_v1"):
		make = m.secret
	default:
		return nil
	}
	if a := b.Body.Attributes["count"]; a != nil {
		if v, ok := m.strictly(a.Expr); ok && v.Type() == cty.Number && v.RawEquals(cty.Zero) {
			return nil
		}
	}
	var all []Cluster
	for _, each := range m.instances(b) {
		m.each = each
		if c, ok := make(b); ok {
			c.Position = finding.Position{File: b.TypeRange.Filename, Line: b.TypeRange.Start.Line}
			c.Defaults = map[string]string{}
			for name, v := range m.defaults {
				if s, ok := asText(v); ok {
					c.Defaults[name] = s
				}
			}
			all = append(all, c)
		}
	}
	m.each = nil
	return all
}

// instances are what each.key and each.value are in each of a block; one where the
// block is made once, or where they are not known.
func (m *module) instances(b *hclsyntax.Block) []map[string]cty.Value {
	a := b.Body.Attributes["for_each"]
	if a == nil {
		return []map[string]cty.Value{nil}
	}
	v, ok := m.value(a.Expr)
	if !ok || v.IsNull() || !v.IsKnown() || !v.CanIterateElements() || v.LengthInt() > maxClusters {
		return []map[string]cty.Value{nil}
	}
	var all []map[string]cty.Value
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if v.Type().IsSetType() {
			key = value
		}
		s, ok := asText(key)
		if !ok || s == openKey {
			return []map[string]cty.Value{nil}
		}
		all = append(all, map[string]cty.Value{"key": key, "value": value})
	}
	return all
}

// bridge is the cluster of a module of the shape of GitOps Bridge: it makes a cluster
// Secret with the labels addons, cluster_name and environment, and the annotations
// metadata. Source: gitops-bridge-dev/gitops-bridge/helm, main.tf.
func (m *module) bridge(b *hclsyntax.Block) (Cluster, bool) {
	v, ok := m.value(b.Body.Attributes["cluster"].Expr)
	if !ok || v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() {
		return Cluster{}, false
	}
	given := v.AsValueMap()
	addons, metadata := given["addons"], given["metadata"]
	if addons == cty.NilVal || metadata == cty.NilVal {
		return Cluster{}, false
	}
	var c Cluster
	name := textOr(given, "cluster_name", "in-cluster")
	environment := textOr(given, "environment", "dev")
	labels, openLabels := texts(addons)
	annotations, openAnnotations := texts(metadata)
	c.Name, c.Server = name, textOr(given, "server", "https://kubernetes.default.svc")
	c.Labels = map[string]string{"cluster_name": name, "environment": environment, "enable_argocd": "true", typeLabel: typeCluster}
	c.Annotations = map[string]string{"cluster_name": name, "environment": environment}
	maps.Copy(c.Labels, labels)
	maps.Copy(c.Annotations, annotations)
	c.OpenLabels, c.OpenAnnotations = openLabels, openAnnotations
	return c, true
}

// secret is the cluster of a Secret that a resource makes.
func (m *module) secret(b *hclsyntax.Block) (Cluster, bool) {
	var metadata *hclsyntax.Body
	for _, inner := range b.Body.Blocks {
		if inner.Type == "metadata" {
			metadata = inner.Body
		}
	}
	if metadata == nil || metadata.Attributes["labels"] == nil {
		return Cluster{}, false
	}
	var c Cluster
	c.Labels, c.OpenLabels = m.attribute(metadata.Attributes["labels"])
	if c.Labels[typeLabel] != typeCluster {
		return Cluster{}, false
	}
	c.Annotations, c.OpenAnnotations = m.attribute(metadata.Attributes["annotations"])
	c.Name, c.Server = appset.Mark(strings.Join(b.Labels, ".")+".name"), appset.Mark(strings.Join(b.Labels, ".")+".server")
	// Only these two of the data are no secrets.
	if a := b.Body.Attributes["data"]; a != nil {
		if data, ok := a.Expr.(*hclsyntax.ObjectConsExpr); ok {
			for _, item := range data.Items {
				v, known := m.value(item.ValueExpr)
				s, is := asText(v)
				switch key := keyOf(item.KeyExpr); {
				case !known || !is:
				case key == "name":
					c.Name = s
				case key == "server":
					c.Server = s
				}
			}
		}
	}
	return c, true
}

func (m *module) attribute(a *hclsyntax.Attribute) (all map[string]string, open bool) {
	if a == nil {
		return nil, false
	}
	v, ok := m.value(a.Expr)
	if !ok {
		return nil, true
	}
	return texts(v)
}

// texts are the attributes of an object; open says that there may be more.
func texts(v cty.Value) (all map[string]string, open bool) {
	if v.IsNull() {
		return nil, false
	}
	if !v.IsKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return nil, true
	}
	all = map[string]string{}
	for k, item := range v.AsValueMap() {
		switch s, ok := asText(item); {
		case k == openKey:
			open = true
		case ok:
			all[k] = s
		case !item.IsNull():
			open = true
		}
	}
	return all, open
}

func textOr(given map[string]cty.Value, key, otherwise string) string {
	if s, ok := asText(given[key]); ok {
		return s
	}
	return otherwise
}
