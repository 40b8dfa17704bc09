package analysis

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// catalogue returns the catalogue of charts with the entries of a platform.
func (r *run) catalogue(p *repo.Platform) (*catalogue.Catalogue, error) {
	var key strings.Builder
	for _, text := range p.Catalogue {
		key.Write(text.Text)
		key.WriteByte(0)
	}
	if known, ok := r.charts[key.String()]; ok {
		return known, nil
	}
	var extra []catalogue.Entry
	for _, text := range p.Catalogue {
		entries, err := catalogue.Decode(text.Text)
		if err != nil {
			return nil, &repo.InputError{Position: text.Position, Message: "catalogue: " + err.Error(), Hint: "ladder catalogue record writes an entry to start from"}
		}
		for i := range entries {
			entries[i].Position = text.Position
		}
		extra = append(extra, entries...)
	}
	known := catalogue.New(extra...)
	r.charts[key.String()] = known
	return known, nil
}

// knowledge answers what is known of the charts of a platform.
type knowledge struct {
	catalogue *catalogue.Catalogue
	renderer  *render.Renderer
	// lacking is what could not be rendered, by component.
	lacking map[string][]*render.Error
	// flux is set where Flux applies the components; placed are the objects of its own among those
	// of each.
	flux   bool
	placed map[string][]manifest.Object
}

// find answers for one source.
func (k *knowledge) find(src model.Source, release, namespace string) (catalogue.Answer, bool) {
	if src.RepoURL == "" {
		return catalogue.Answer{}, false // a chart of the repository itself is rendered
	}
	asked := catalogue.Asked{Source: src, Release: release, Namespace: namespace}
	var complete bool
	if asked.Values, complete = k.renderer.Values(src); complete {
		asked.Withheld = src.Withheld
	}
	asked.Partial = !complete || src.Incomplete != ""
	return k.catalogue.Find(asked)
}

// crds are those that are known of a source that could not be rendered.
func (k *knowledge) crds(e *render.Error) []manifest.CRD {
	answer, _ := k.find(e.Missing, e.Missing.ReleaseName, e.Namespace)
	var out []manifest.CRD
	for _, c := range answer.CRDs {
		out = append(out, c.CRD)
	}
	return out
}

// component answers for all sources of a component: where something of it could
// not be rendered for that, else for the charts it was rendered from.
func (k *knowledge) component(c model.Component) (infer.Known, bool) {
	if lacking := k.lacking[c.Name]; len(lacking) > 0 {
		all := infer.Known{Unrendered: true}
		for _, e := range lacking {
			answer, ok := k.find(e.Missing, e.Missing.ReleaseName, e.Namespace)
			answer.Known.Objects = slices.DeleteFunc(answer.Known.Objects, func(o infer.KnownObject) bool {
				return slices.Contains(e.Deleted, source.Named{Kind: o.Kind, Name: o.Name})
			})
			if e.Moved {
				moved(answer.Known.Objects, e.Namespace)
			}
			answer.Known.At = e.Position // also in a kustomization, or among the dependencies of a chart
			all = join(all, answer.Known)
			all.Open = all.Open || !ok || isUnsure(e.Missing)
			all.Elsewhere = all.Elsewhere || e.Namespace != "" && e.Namespace != c.Namespace
			part := infer.PartOf(e.Missing)
			if isUnsure(e.Missing) {
				part.Address = ""
			}
			all.Lacking = append(all.Lacking, part)
			if all.Foreign = all.Foreign || !ok; !ok {
				all.Hidden = append(all.Hidden, infer.PartOf(e.Missing))
			}
		}
		return all, true
	}
	var all infer.Known
	found := false
	for _, src := range c.Sources {
		release := src.ReleaseName
		if release == "" {
			release = c.Name
		}
		if answer, ok := k.find(src, release, c.Namespace); ok {
			answer.Known.At = src.Position
			all, found = join(all, answer.Known), true
		}
	}
	return all, found
}

// isUnsure reports whether any of the values of a source may be another than is known.
func isUnsure(src model.Source) bool { return src.Incomplete != "" && len(src.Withheld) == 0 }

// moved puts objects into the namespace of a kustomization, which also renames Namespaces.
// Source: kustomize, the namespace transformer.
func moved(objects []infer.KnownObject, namespace string) {
	for i := range objects {
		switch o := &objects[i]; {
		case o.Kind == "Namespace":
			o.Name = namespace
		case o.Namespace != "":
			o.Namespace = namespace
		}
	}
}

func join(a, b infer.Known) infer.Known {
	if b.Source != "" {
		a.Parts, a.At = append(a.Parts, b), b.At
	}
	if a.Source == "" {
		a.Source = b.Source
	} else if b.Source != "" && a.Source != b.Source {
		a.Source += ", " + b.Source
	}
	a.Open, a.Foreign = a.Open || b.Open, a.Foreign || b.Foreign
	a.Elsewhere = a.Elsewhere || b.Elsewhere
	a.Kinds, a.Off = slices.Concat(a.Kinds, b.Kinds), slices.Concat(a.Off, b.Off)
	a.Controllers = slices.Concat(a.Controllers, b.Controllers)
	a.Webhooks = slices.Concat(a.Webhooks, b.Webhooks)
	a.Objects = slices.Concat(a.Objects, b.Objects)
	a.Children = slices.Concat(a.Children, b.Children)
	a.APIGroups = slices.Concat(a.APIGroups, b.APIGroups)
	a.Requires = slices.Concat(a.Requires, b.Requires)
	return a
}
