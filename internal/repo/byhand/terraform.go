package byhand

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

var (
	// block begins a resource of Terraform that may make a namespace, or an object.
	block  = lazyregexp.New(`(?m)^resource\s+"(kubernetes_(?:namespace|secret|config_map|service_account|persistent_volume_claim)(?:_v1)?|helm_release)"\s+"[^"]*"\s*\{`)
	called = lazyregexp.New(`(?m)^\s*name\s*=\s*(?:"([a-z0-9][a-z0-9-]*)"|var\.([A-Za-z0-9_-]+)\s*$)`)
	into   = lazyregexp.New(`(?m)^\s*namespace\s*=\s*(?:"([a-z0-9][a-z0-9-]*)"|var\.([A-Za-z0-9_-]+)\s*$)`)
	// variable begins one that may have a name as its default.
	variable = lazyregexp.New(`(?m)^variable\s+"([A-Za-z0-9_-]+)"\s*\{`)
	initial  = lazyregexp.New(`(?m)^\s*default\s*=\s*"([a-z0-9][a-z0-9-]*)"`)
	// module begins a call of a module, which says where it is and what its variables are.
	module    = lazyregexp.New(`(?m)^module\s+"[^"]*"\s*\{`)
	located   = lazyregexp.New(`(?m)^\s*source\s*=\s*"(\.\.?/[^"]*)"`)
	attribute = lazyregexp.New(`(?m)^\s*([A-Za-z0-9_-]+)\s*=\s*"([a-z0-9][a-z0-9-]*)"\s*$`)
	makes     = lazyregexp.New(`(?m)^\s*create_namespace\s*=\s*true`)
)

// kindsOf are the kinds of the resources of Terraform that make objects.
var kindsOf = map[string]string{
	"kubernetes_secret": "Secret", "kubernetes_config_map": "ConfigMap", "kubernetes_service_account": "ServiceAccount",
	"kubernetes_persistent_volume_claim": "PersistentVolumeClaim",
}

// namesOfVariables are the names that variables of some files of Terraform have, by folder and variable:
// their defaults, and what those give who call a folder as a module.
func namesOfVariables(tree *repofs.Tree, files []string) map[[2]string][]string {
	out := map[[2]string][]string{}
	add := func(folder, name, value string) {
		if k := [2]string{folder, name}; !slices.Contains(out[k], value) {
			out[k] = append(out[k], value)
		}
	}
	for _, file := range files {
		data, err := tree.Read(file)
		if err != nil || repofs.IsFixture(file) {
			continue
		}
		text := string(data)
		for start, body := range blocks(text, variable) {
			if m := initial.FindStringSubmatch(body); m != nil {
				add(path.Dir(file), text[start[2]:start[3]], m[1])
			}
		}
		for _, body := range blocks(text, module) {
			m := located.FindStringSubmatch(body)
			if m == nil {
				continue
			}
			for _, one := range attribute.FindAllStringSubmatch(body, -1) {
				add(path.Join(path.Dir(file), m[1]), one[1], one[2])
			}
		}
	}
	return out
}

// blocks are what a pattern finds in a text with what stands behind each, up to the next.
func blocks(text string, begins interface {
	FindAllStringSubmatchIndex(string, int) [][]int
}) func(yield func(start []int, body string) bool) {
	return func(yield func([]int, string) bool) {
		starts := begins.FindAllStringSubmatchIndex(text, -1)
		for i, at := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			if !yield(at, text[at[1]:end]) {
				return
			}
		}
	}
}

// terraformed are the namespaces and objects that Terraform makes, as far as their names are
// written out, or are those of variables. A cluster that Terraform sets up has them before Argo CD.
func terraformed(ctx context.Context, tree *repofs.Tree) (namespaces []Namespace, objects []Object) {
	found, _ := tree.Find(ctx, ".", func(name string) bool { return path.Ext(name) == ".tf" })
	known := namesOfVariables(tree, found)
	for _, file := range found {
		data, err := tree.Read(file)
		if err != nil || repofs.IsFixture(file) {
			continue
		}
		text, line, counted := string(data), 1, 0
		for at, body := range blocks(text, block) {
			name := called
			resource := strings.TrimSuffix(text[at[2]:at[3]], "_v1")
			if resource == "helm_release" {
				if name = into; !makes.MatchString(body) {
					continue
				}
			}
			m := name.FindStringSubmatch(body)
			if m == nil {
				continue
			}
			names := known[[2]string{path.Dir(file), m[2]}]
			if m[1] != "" {
				names = []string{m[1]}
			}
			line += strings.Count(text[counted:at[0]], "\n")
			counted = at[0]
			position := finding.Position{File: file, Line: line}
			for _, one := range names {
				if kind := kindsOf[resource]; kind != "" {
					objects = append(objects, Object{Kind: kind, Name: one, Position: position})
				} else {
					namespaces = append(namespaces, Namespace{Name: one, Position: position})
				}
			}
		}
	}
	return namespaces, objects
}
