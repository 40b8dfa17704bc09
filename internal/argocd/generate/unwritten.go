package generate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
)

// A template reads what a descriptor says. What a component has without that, its type
// and its source, the generator tells the template by the component's name. What is new
// has the type of its phase, and plain manifests beside its descriptor.

// typed reports whether every descriptor says the type of its component.
func (b *builder) typed() bool {
	for _, c := range b.components {
		if _, written := c.Fields[fieldType]; !written {
			return false
		}
	}
	return true
}

// kind is the expression of the type.
func (b *builder) kind() string {
	if b.typed() {
		return exprType
	}
	return varType
}

// typeLines find the type, and label Applications with it.
func (b *builder) typeLines(line printf, stages []stage) {
	if b.typed() {
		return
	}
	ofPhase, ofName := map[string]string{}, map[string]string{}
	for _, s := range stages {
		for _, p := range s.phases {
			if t := descriptor.TypeAt(p, b.platform.Ladder.Bands); t != model.Runtime {
				ofPhase[p.String()] = string(t)
			}
		}
		for _, name := range s.components {
			c := b.components[name]
			if _, written := c.Fields[fieldType]; !written && c.Type != descriptor.TypeAt(c.Phase, b.platform.Ladder.Bands) {
				ofName[name] = string(c.Type)
			}
		}
	}
	line(`{{- /* The type is that of the phase where a descriptor does not say it. */ -}}`)
	line(`{{- $type := coalesce (get . "componentType") (get (%s) .name) (get (%s) (%s)) %q -}}`, dict(ofName), dict(ofPhase), exprPhase, model.Runtime)
	line(`{{- $_ := set $labels %q $type -}}`, b.label.Type)
	line(`{{- $_ := set $labels %q (coalesce (get . "dependencyPhase") $type) -}}`, b.label.Dependency)
	line(`{{- $_ := set $annotations %q $type -}}`, annotationType)
}

// dict writes a map as a template's, in the order of its keys.
func dict(of map[string]string) string {
	var pairs []string
	for key, value := range of {
		pairs = append(pairs, strconv.Quote(key)+" "+strconv.Quote(value))
	}
	slices.Sort(pairs)
	return strings.Join(append([]string{"dict"}, pairs...), " ")
}

// inFolders are the kinds of the sources of components that lie beside descriptors
// which name none, by component.
func (b *builder) inFolders() map[string]string {
	kinds := map[string]string{}
	for name, c := range b.components {
		named := false
		for _, field := range []string{"chart", "kustomize", "manifests", "path"} {
			_, written := c.Fields[field]
			named = named || written
		}
		if !named && len(c.Sources) == 1 {
			kinds[name] = string(c.Sources[0].Kind)
		}
	}
	return kinds
}

// ownFolder makes a source of the folder of a descriptor that names none.
func (b *builder) ownFolder(line printf) {
	kinds := b.inFolders()
	if len(kinds) == 0 {
		return
	}
	// Checks alone need no source: what lies beside them is told by name.
	smoke, others := `(get . "smoke")`, false
	for name, kind := range kinds {
		_, checks := b.components[name].Fields["smoke"]
		others = others || checks
		if kind == string(model.Manifests) && !checks {
			delete(kinds, name)
		}
	}
	if others {
		smoke = fmt.Sprintf(`(and (get . "smoke") (not (hasKey (%s) .name)))`, dict(kinds))
	}
	folder := `.path.path`
	if b.prefix != "." {
		folder = fmt.Sprintf(`(trimPrefix %q .path.path)`, b.prefix+"/")
	}
	line(`{{- /* A descriptor without a source is for its folder. */ -}}`)
	line(`{{- if not (or (get . "chart") (get . "kustomize") (get . "manifests") %s) }}`, smoke)
	line(`  {{- $own := dict "path" %s }}`, folder)
	line(`  {{- $kind := get (%s) .name | default %q }}`, dict(kinds), model.Manifests)
	line(`  {{- if kindIs "slice" (get $of "values") }}{{ $_ := set $own "valueFiles" (get $of "values") }}{{ end }}`)
	line(`  {{- if eq $kind %q }}{{ $_ := set $own "exclude" %q }}{{ end }}`, model.Manifests, "{"+descriptor.FileName+","+descriptor.DisabledFileName+"}")
	line(`  {{- $_ := set $of $kind $own }}`)
	line(`{{- end -}}`)
}
