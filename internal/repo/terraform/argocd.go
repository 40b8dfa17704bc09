package terraform

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// argoKinds are the kinds of the resources of the provider argocd. Source: the provider
// argoproj-labs/argocd, whose blocks are the fields of the objects in words with underscores.
var argoKinds = map[string]string{"argocd_application": "Application", "argocd_application_set": "ApplicationSet", "argocd_project": "AppProject"}

// lists are the blocks that are items of a list, with the name of the list, by what they are in where
// this decides.
var lists = map[string]string{
	"parameter": "parameters", "file_parameter": "fileParameters", "ext_var": "extVars", "tla": "tlas", "ignore_difference": "ignoreDifferences",
	"info": "info", "generator": "generators", "step": "steps", "match_expressions": "matchExpressions", "git/directory": "directories",
	"git/file": "files", "project/destination": "destinations", "role": "roles", "sync_window": "syncWindows",
	"cluster_resource_whitelist": "clusterResourceWhitelist", "cluster_resource_blacklist": "clusterResourceBlacklist",
	"namespace_resource_whitelist": "namespaceResourceWhitelist", "namespace_resource_blacklist": "namespaceResourceBlacklist",
}

// maxBlocks bounds how deep blocks lie in each other.
const maxBlocks = 16

// argoObject is the object of Argo CD that a resource of its provider makes.
func (m *module) argoObject(b *hclsyntax.Block) (cty.Value, bool) {
	kind := argoKinds[b.Labels[0]]
	object := map[string]cty.Value{"apiVersion": text("argoproj.io/v1alpha1"), "kind": text(kind)}
	for _, inner := range b.Body.Blocks {
		if inner.Type != "metadata" && inner.Type != "spec" {
			continue
		}
		within := inner.Type
		if kind == "AppProject" && within == "spec" {
			within = "project"
		}
		object[inner.Type] = m.block(inner.Body, within, 0)
	}
	return cty.ObjectVal(object), object["metadata"] != cty.NilVal && object["spec"] != cty.NilVal
}

// block is a block as an object, within says in which one.
func (m *module) block(b *hclsyntax.Body, within string, depth int) cty.Value {
	fields := map[string]cty.Value{}
	for name, a := range b.Attributes {
		v, ok := m.value(a.Expr)
		if !ok || v.IsNull() {
			continue
		}
		if name == "automated" || name == "backoff" { // objects in old versions of the provider
			v = inWords(v)
		}
		fields[camel(name)] = v
	}
	if depth > maxBlocks {
		return cty.ObjectVal(fields)
	}
	items := map[string][]cty.Value{}
	for _, inner := range b.Blocks {
		v := m.block(inner.Body, inner.Type, depth+1)
		list := lists[within+"/"+inner.Type]
		if list == "" {
			list = lists[inner.Type]
		}
		switch {
		case inner.Type == "dynamic":
			continue // what it makes depends on values
		case list != "":
			items[list] = append(items[list], v)
		case inner.Type == "source":
			items["sources"] = append(items["sources"], v)
		default:
			fields[camel(inner.Type)] = v
		}
	}
	for name, list := range items {
		if name == "sources" && len(list) == 1 {
			fields["source"] = list[0]
			continue
		}
		fields[name] = cty.TupleVal(list)
	}
	return cty.ObjectVal(fields)
}

// inWords is an object with its keys as Argo CD has them.
func inWords(v cty.Value) cty.Value {
	if !v.IsKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return v
	}
	fields := map[string]cty.Value{}
	for name, of := range v.AsValueMap() {
		fields[camel(name)] = of
	}
	return cty.ObjectVal(fields)
}

// camel is the name of a field of Argo CD for one with underscores.
func camel(name string) string {
	if name == "repo_url" {
		return "repoURL"
	}
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}
