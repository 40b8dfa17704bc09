package argocd

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// document is one Kubernetes object of the repository.
type document struct {
	// value is the object as Argo CD sees it, written as the file has it: they
	// differ where a kustomization patches the object.
	value, written *yamldoc.Value
	// generated is set for an Application that an ApplicationSet generates.
	generated *generated
	// rendered is set where a chart made the object: it is written nowhere.
	rendered bool
	// wave is what the template of a chart makes its sync wave of; nil where that is not known.
	wave *valueSource
	// assumed is set where what made it is only supposed to be so.
	assumed bool
	// chart is set for a chart that nothing applies: the component it is.
	chart *model.Component
}

// generated says how an Application was generated.
type generated struct {
	set        document
	parameters map[string]any
	// element is what it was generated from.
	element finding.Position
	// assumed is set where a set is only supposed to generate it.
	assumed bool
	// cluster is which of the clusters that were found it is for, from 1; 0 for none.
	cluster int
	// lacks says of each source which of its values are not known.
	lacks []string
	// namespace is how that of its destination is written, where it is not known.
	namespace string
	// step is the RollingSync step that matches it, from 1; 0 for none.
	step int
}

func (g *generated) lacking(source int) string {
	if g == nil || source >= len(g.lacks) {
		return ""
	}
	return g.lacks[source]
}

func (d document) kind() string { return d.value.TextAt("kind") }

func (d document) name() string { return d.value.TextAt("metadata", "name") }

// position is where the object is defined: for a generated Application the
// element it was generated from.
func (d document) position() finding.Position {
	if d.generated != nil {
		return d.generated.element
	}
	return d.written.Position
}

// at is the position of the longest part of a path that the file has.
func (d document) at(keys ...string) finding.Position {
	position, v := d.written.Position, d.written
	for _, k := range keys {
		e, ok := v.Get(k)
		if !ok {
			break
		}
		position, v = e.Position, e.Value
	}
	return position
}

// argo reports whether the object is of Argo CD's own API and a kind.
func (d document) argo(kind string) bool {
	return d.kind() == kind && strings.HasPrefix(d.value.TextAt("apiVersion"), "argoproj.io/")
}

// exported reports whether an object was read from a cluster: nobody writes what the API
// server gives it.
func (d document) exported() bool {
	return d.value.TextAt("metadata", "uid") != "" && d.value.TextAt("metadata", "resourceVersion") != ""
}

func (d document) isApplication() bool { return d.argo("Application") }

// applies reports whether the object makes or is an Application.
func (d document) applies() bool { return d.isApplication() || d.argo("ApplicationSet") }

// isArgo reports whether the object configures Argo CD and is nothing that is
// rolled out itself.
func (d document) isArgo() bool {
	return d.isApplication() || d.argo("ApplicationSet") || d.argo("AppProject")
}

// sources are the sources of an Application: spec.sources wins over
// spec.source when both are there. Source: Argo CD, ApplicationSpec.GetSources.
func (d document) sources() []source {
	if list := d.value.At("spec", "sources"); list != nil && len(list.Items) > 0 {
		written := d.written.At("spec", "sources")
		all := make([]source, len(list.Items))
		for i, item := range list.Items {
			all[i] = source{value: item, position: d.at("spec", "sources"), lacks: d.generated.lacking(i)}
			if written != nil && i < len(written.Items) {
				all[i].position = written.Items[i].Position
				all[i].written = written.Items[i]
			}
		}
		return all
	}
	if one := d.value.At("spec", "source"); one != nil && one.Kind == yamldoc.Map {
		return []source{{value: one, written: d.written.At("spec", "source"), position: d.at("spec", "source"), lacks: d.generated.lacking(0)}}
	}
	// What is hydrated is made of the dry source. Source: Argo CD, SourceHydrator.
	if dry := d.value.At("spec", "sourceHydrator", "drySource"); dry != nil && dry.Kind == yamldoc.Map {
		return []source{{value: dry, written: d.written.At("spec", "sourceHydrator", "drySource"), position: d.at("spec", "sourceHydrator", "drySource"), lacks: d.generated.lacking(0)}}
	}
	return nil
}

// isPatch reports whether an Application is only written as a patch of another: it says
// neither where to nor where from.
func (d document) isPatch() bool {
	return d.isApplication() && d.value.At("spec", "destination") == nil && !slices.ContainsFunc(d.sources(), func(s source) bool { return s.repoURL() != "" })
}

// source is one source of an Application.
type source struct {
	value    *yamldoc.Value
	written  *yamldoc.Value // nil where a kustomization added the source
	position finding.Position
	// lacks says which of its values are not known.
	lacks string
}

func (s source) repoURL() string { return s.value.TextAt("repoURL") }

func (s source) path() string { return s.value.TextAt("path") }

// at is the position of a field of the source.
func (s source) at(keys ...string) finding.Position {
	if s.written == nil {
		return s.position
	}
	return document{written: s.written}.at(keys...)
}

// item is the position of an item of a list of the source, or of the list
// where a kustomization added the item.
func (s source) item(i int, keys ...string) finding.Position {
	if list := s.written.At(keys...); s.written != nil && list != nil && i < len(list.Items) {
		return list.Items[i].Position
	}
	return s.at(keys...)
}

// split turns the documents of a file into objects; what has a list of items is these,
// whatever its kind. Source: Argo CD, splitting of manifests.
func split(values []*yamldoc.Value) []document {
	var all []document
	for _, v := range values {
		if items := v.At("items"); v.TextAt("kind") != "" && items != nil && items.Kind == yamldoc.List {
			all = append(all, split(items.Items)...)
			continue
		}
		if v.Kind == yamldoc.Map && v.TextAt("kind") != "" {
			all = append(all, document{value: v, written: v})
		}
	}
	return all
}
