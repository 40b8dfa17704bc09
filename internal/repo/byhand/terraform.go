package byhand

import (
	"context"
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

var (
	// block begins a resource of Terraform that may make a namespace.
	block  = lazyregexp.New(`(?m)^resource\s+"(kubernetes_namespace(?:_v1)?|helm_release)"\s+"[^"]*"\s*\{`)
	called = lazyregexp.New(`(?m)^\s*name\s*=\s*"([a-z0-9][a-z0-9-]*)"`)
	into   = lazyregexp.New(`(?m)^\s*namespace\s*=\s*"([a-z0-9][a-z0-9-]*)"`)
	makes  = lazyregexp.New(`(?m)^\s*create_namespace\s*=\s*true`)
)

// terraformed are the namespaces that Terraform makes, as far as their names are written
// out. A cluster that Terraform sets up has them before Argo CD.
func terraformed(ctx context.Context, tree *repofs.Tree) []Namespace {
	found, _ := tree.Find(ctx, ".", func(name string) bool { return path.Ext(name) == ".tf" })
	var all []Namespace
	for _, file := range found {
		data, err := tree.Read(file)
		if err != nil || repofs.IsFixture(file) {
			continue
		}
		text, line, counted := string(data), 1, 0
		starts := block.FindAllStringIndex(text, -1)
		for i, at := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			body, name := text[at[1]:end], called
			if strings.Contains(text[at[0]:at[1]], `"helm_release"`) {
				if name = into; !makes.MatchString(body) {
					continue
				}
			}
			if m := name.FindStringSubmatch(body); m != nil {
				line += strings.Count(text[counted:at[0]], "\n")
				counted = at[0]
				all = append(all, Namespace{Name: m[1], Position: finding.Position{File: file, Line: line}})
			}
		}
	}
	return all
}
