package flux

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// variable matches the variables that are left where a value is not known. They are
// filled in by package render/postbuild. Source: Flux, "Post build variable
// substitution".
var variable = lazyregexp.New(`\$?\$\{([_A-Za-z][_A-Za-z0-9]*)\}`)

// postBuild finds what a Kustomization fills in: the variables of ConfigMaps, then its
// own. Source: github.com/fluxcd/pkg/kustomize, SubstituteVariables.
func (l *loader) postBuild(o manifest.Object, k *Kustomization) {
	k.PostBuild = &model.PostBuild{}
	build := mapAt(o.Object, "spec", "postBuild")
	if len(build) == 0 {
		return
	}
	p := k.PostBuild
	p.Variables = map[string]string{}
	for i, item := range listAt(build, "substituteFrom") {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		kind, name := textAt(m, "kind"), textAt(m, "name")
		if !flagAt(m, "optional") {
			k.Sources = append(k.Sources, fluxcd.Source{Kind: kind, Name: name, Field: fmt.Sprintf("spec.postBuild.substituteFrom[%d].name", i)})
		}
		data, known := map[string]any(nil), false
		if kind == "ConfigMap" {
			id := key(kind, k.Namespace, name)
			l.asked[id] = true
			data, known = l.configs[id]
		}
		if !known {
			p.Open = true
			k.Unknown = append(k.Unknown, kind+" "+name)
		}
		take(p.Variables, data)
	}
	take(p.Variables, mapAt(build, "substitute"))
	p.Substitute = len(p.Variables) > 0 || p.Open || textAt(build, "substituteStrategy") == "Always"
}

// take adds variables. Line ends are no part of a value.
func take(all map[string]string, more map[string]any) {
	for name, value := range more {
		switch value.(type) {
		case map[string]any, []any, nil:
		default:
			all[name] = strings.ReplaceAll(fmt.Sprint(value), "\n", "")
		}
	}
}

// unfilled tells of the variables of an object whose values are not known.
func (l *loader) unfilled(k *Kustomization, o manifest.Object) {
	if !k.PostBuild.Open {
		return
	}
	for _, name := range unfilled(o.Object) {
		l.problem(Problem{
			Kind: Substitution, Name: k.Name, Position: o.Origin.Position(), Hint: "write the value into the manifest, or into layers of values",
			Message: fmt.Sprintf("the variable %s in %s %s is not known", name, o.GetKind(), o.GetName()),
		})
	}
}

// unfilled lists the variables in a value, sorted.
func unfilled(v any) []string {
	var all []string
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case string:
			for _, m := range variable.FindAllStringSubmatch(v, -1) {
				if !strings.HasPrefix(m[0], "$$") {
					all = append(all, m[1])
				}
			}
		case map[string]any:
			for _, below := range v {
				visit(below)
			}
		case []any:
			for _, below := range v {
				visit(below)
			}
		}
	}
	visit(v)
	slices.Sort(all)
	return slices.Compact(all)
}

// holdsVariable reports whether a value still has a variable.
func holdsVariable(v any) bool { return len(unfilled(v)) > 0 }
