package terraform

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
)

// Object is an object that Terraform makes in a cluster.
type Object struct {
	Kind string `json:"kind"`
	// Name has "*" for a part that is not known; Namespace is empty where it is not known.
	Name      string           `json:"name"`
	Namespace string           `json:"namespace"`
	Position  finding.Position `json:"position"`
}

// Manifest is a text of manifests that Terraform applies, with ${name} for what is not known.
type Manifest struct {
	Text     string           `json:"text"`
	Position finding.Position `json:"position"`
}

// Made is what the Terraform of a repository makes in clusters, by file and line.
type Made struct {
	Objects   []Object   `json:"objects"`
	Releases  []Release  `json:"releases"`
	Manifests []Manifest `json:"manifests"`
	// Broken are why folders are not read, sorted by folder.
	Broken []SyntaxError `json:"broken"`
}

// makes matches a file that may make something in a cluster, or a cluster that has something.
var makes = lazyregexp.New(`"(?:kubernetes_\w+|kubectl_manifest|helm_release|argocd_\w+|google_container_cluster|terraform-google-modules/kubernetes-engine/[^"]*)"`)

// Makes reports whether a file may make something in a cluster.
func Makes(f File) bool { return makes.Match(f.Content) }

// kindsOf are the kinds of the resources that make objects. Source: the provider kubernetes.
var kindsOf = map[string]string{
	"kubernetes_namespace": "Namespace", "kubernetes_secret": "Secret", "kubernetes_config_map": "ConfigMap",
	"kubernetes_service_account": "ServiceAccount", "kubernetes_persistent_volume_claim": "PersistentVolumeClaim",
}

// plainName is the name of an object, with "*" for what is not known.
var plainName = lazyregexp.New(`^[a-z0-9*](?:[a-z0-9*.-]*[a-z0-9*])?$`)

// MadeBy reads what all Terraform of a repository makes. A folder that others call as a module
// is read with the values that they give; the defaults of variables hold, unless they decide
// whether something is made at all. A folder with a file that is no Terraform is not read.
func MadeBy(all Repository) (Made, error) {
	var made Made
	r := newRepository(all)
	for _, dir := range r.dirs {
		for _, set := range r.settings(dir) {
			decided, blocks := newModule(r.folders[dir], set)
			undecided, _ := newModule(r.folders[dir], set)
			undecided.undecided = true
			for _, b := range blocks {
				made.add(decided, undecided, b)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(r.broken)) {
		made.Broken = append(made.Broken, *r.broken[dir])
	}
	made.Objects = distinct(made.Objects, func(o Object) Object { return o })
	made.Manifests = distinct(made.Manifests, func(m Manifest) Manifest { return m })
	made.Releases = distinct(made.Releases, func(r Release) Object {
		return Object{Kind: r.Chart, Name: r.Name, Namespace: r.Namespace, Position: r.Position}
	})
	return made, nil
}

// distinct is a list without those that have the key of an earlier one.
func distinct[T any, K comparable](all []T, key func(T) K) []T {
	var out []T
	met := map[K]bool{}
	for _, one := range all {
		if k := key(one); !met[k] {
			met[k] = true
			out = append(out, one)
		}
	}
	return out
}

// add adds what a block makes, for each of its instances.
func (made *Made) add(decided, undecided *module, b *hclsyntax.Block) {
	if b.Type != "resource" || len(b.Labels) != 2 || undecided.isNone(b) {
		return
	}
	what := strings.TrimSuffix(b.Labels[0], "_v1")
	for _, each := range decided.instances(b) {
		decided.each, undecided.each = each, each
		switch kind := kindsOf[what]; {
		case kind != "":
			made.object(decided, b, kind)
		case what == "helm_release":
			made.release(decided, undecided, b)
		case what == "kubernetes_manifest":
			made.manifest(decided, b.Body.Attributes["manifest"])
		case what == "kubectl_manifest":
			made.manifest(decided, b.Body.Attributes["yaml_body"])
		case argoKinds[what] != "":
			if v, ok := decided.argoObject(b); ok {
				made.written(decided, v, position(b.TypeRange))
			}
		}
	}
	decided.each, undecided.each = nil, nil
}

// isNone reports whether a block is known to be made no times.
func (m *module) isNone(b *hclsyntax.Block) bool {
	a := b.Body.Attributes["count"]
	if a == nil {
		return false
	}
	v, ok := m.value(a.Expr)
	return ok && v.IsKnown() && !v.IsNull() && v.Type() == cty.Number && v.RawEquals(cty.Zero)
}

func (made *Made) object(m *module, b *hclsyntax.Block, kind string) {
	for _, inner := range b.Body.Blocks {
		if inner.Type == "metadata" {
			made.named(Object{Kind: kind, Name: m.filled(inner.Body, "name"), Namespace: m.filled(inner.Body, "namespace"), Position: position(b.TypeRange)})
		}
	}
}

// named adds an object if its name says anything.
func (made *Made) named(o Object) {
	o.Name = unmarked(o.Name)
	if appset.IsMarked(o.Namespace) {
		o.Namespace = ""
	}
	if plainName.MatchString(o.Name) && strings.Trim(o.Name, "*") != "" {
		made.Objects = append(made.Objects, o)
	}
}

func (made *Made) release(decided, undecided *module, b *hclsyntax.Block) {
	r, ok := undecided.release(b)
	namespace := decided.filled(b.Body, "namespace")
	if creates, _ := decided.bool(b.Body, "create_namespace"); creates {
		made.named(Object{Kind: "Namespace", Name: namespace, Position: position(b.TypeRange)})
	}
	if !ok || undecided.chartFolder(b.Body) != "" {
		return
	}
	r.Name, r.Namespace = known(decided.filled(b.Body, "name")), known(namespace)
	r.Repository, r.Version = known(decided.filled(b.Body, "repository")), known(decided.filled(b.Body, "version"))
	made.Releases = append(made.Releases, r)
}

// manifest reads what an object, or a text of YAML, has. Files that are read as texts are
// found by their names: see Named.
func (made *Made) manifest(m *module, a *hclsyntax.Attribute) {
	if a == nil {
		return
	}
	e := a.Expr
	if call, ok := e.(*hclsyntax.FunctionCallExpr); ok && len(call.Args) == 1 && (call.Name == "yamldecode" || call.Name == "yamlencode" || call.Name == "jsonencode") {
		e = call.Args[0]
	}
	if v, ok := m.value(e); ok && !v.IsNull() && v.IsKnown() {
		made.written(m, v, position(a.SrcRange))
	}
}

// written adds an object, or a text of YAML.
func (made *Made) written(m *module, v cty.Value, at finding.Position) {
	text, isText := asText(v)
	if !isText {
		if !v.Type().IsObjectType() {
			return
		}
		var ok bool
		if text, ok = encoded(closed(v)); !ok {
			return
		}
	}
	text = appset.Fill(text, func(name string) (string, bool) { return asText(m.defaults[name]) })
	text = appset.Fill(text, func(name string) (string, bool) { return "${" + name + "}", true })
	if strings.Contains(text, "kind") {
		made.Manifests = append(made.Manifests, Manifest{Text: text, Position: at})
	}
}

// closed is a value without the sign that there may be more in its objects.
func closed(v cty.Value) cty.Value {
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.IsNull() && v.IsKnown() && v.Type().IsObjectType() && v.Type().HasAttribute(openKey) {
			all := v.AsValueMap()
			delete(all, openKey)
			return cty.ObjectVal(all), nil
		}
		return v, nil
	})
	if err != nil {
		return v
	}
	return out
}

// known is a text without marks, or none.
func known(text string) string {
	if appset.IsMarked(text) {
		return ""
	}
	return text
}

// unmarked is a text with "*" for each of its marks.
func unmarked(text string) string {
	for _, name := range appset.Marks(text) {
		text = strings.ReplaceAll(text, appset.Mark(name), "*")
	}
	return text
}

// filled is the text of an attribute with the defaults of its marks.
func (m *module) filled(b *hclsyntax.Body, name string) string {
	return appset.Fill(m.literal(b, name), func(name string) (string, bool) { return asText(m.defaults[name]) })
}

// bool is an attribute that is true or false.
func (m *module) bool(b *hclsyntax.Body, name string) (on, ok bool) {
	text := m.filled(b, name)
	return text == "true", text == "true" || text == "false"
}
