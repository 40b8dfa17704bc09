package byhand

import (
	"cmp"
	"context"
	"path"
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
	makes    = lazyregexp.New(`(?m)^\s*create_namespace\s*=\s*true`)
)

// kindsOf are the kinds of the resources of Terraform that make objects.
var kindsOf = map[string]string{
	"kubernetes_secret": "Secret", "kubernetes_config_map": "ConfigMap", "kubernetes_service_account": "ServiceAccount",
	"kubernetes_persistent_volume_claim": "PersistentVolumeClaim",
}

// defaults are the variables of the folders of some files of Terraform that have a name as their
// default, by folder and variable.
func defaults(tree *repofs.Tree, files []string) map[[2]string]string {
	out := map[[2]string]string{}
	for _, file := range files {
		data, err := tree.Read(file)
		if err != nil {
			continue
		}
		text := string(data)
		starts := variable.FindAllStringSubmatchIndex(text, -1)
		for i, at := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			if m := initial.FindStringSubmatch(text[at[1]:end]); m != nil {
				out[[2]string{path.Dir(file), text[at[2]:at[3]]}] = m[1]
			}
		}
	}
	return out
}

// terraformed are the namespaces and objects that Terraform makes, as far as their names are
// written out, or the defaults of variables. A cluster that Terraform sets up has them before Argo CD.
func terraformed(ctx context.Context, tree *repofs.Tree) (namespaces []Namespace, objects []Object) {
	found, _ := tree.Find(ctx, ".", func(name string) bool { return path.Ext(name) == ".tf" })
	known := defaults(tree, found)
	for _, file := range found {
		data, err := tree.Read(file)
		if err != nil || repofs.IsFixture(file) {
			continue
		}
		text, line, counted := string(data), 1, 0
		starts := block.FindAllStringSubmatchIndex(text, -1)
		for i, at := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			body, name := text[at[1]:end], called
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
			if of := cmp.Or(m[1], known[[2]string{path.Dir(file), m[2]}]); of != "" {
				line += strings.Count(text[counted:at[0]], "\n")
				counted = at[0]
				position := finding.Position{File: file, Line: line}
				if kind := kindsOf[resource]; kind != "" {
					objects = append(objects, Object{Kind: kind, Name: of, Position: position})
				} else {
					namespaces = append(namespaces, Namespace{Name: of, Position: position})
				}
			}
		}
	}
	return namespaces, objects
}
