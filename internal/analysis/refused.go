package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/kube/strict"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// The sync options with which unknown fields are ignored: without validation, and where an
// object is replaced, for which gitops-engine asks for none.
const (
	noValidation = "Validate=false"
	replacing    = "Replace=true"
)

// asWritten are the kinds that Flux does not convert.
var asWritten = []string{"Role", "ClusterRole"}

// decode begins to look for what is refused of each component and returns a wait for it. It takes as
// long as inference, beside which it runs: warm lint of examples/zerotouch takes 0.92 x the time.
func (r *Result) decode(objects map[string][]manifest.Object) (wait func() [][]finding.Finding) {
	found := make([][]finding.Finding, len(r.Platform.Components))
	var all sync.WaitGroup
	all.Go(func() {
		for i, c := range r.Platform.Components {
			found[i] = r.refused(c, objects[c.Name])
		}
	})
	return func() [][]finding.Finding {
		all.Wait()
		return found
	}
}

// refused finds objects of Kubernetes' own kinds with fields that the kind does not have,
// or values of the wrong type. The API server refuses the latter, and a server-side apply
// the former as well. Argo CD's apply from the client's side asks for no validation of
// fields: they are lost, and the Application differs from what is applied for good. Flux converts objects
// to their Go types and back, so that such a field is lost, too. Source: gitops-engine,
// pkg/utils/kube, newApplyOptions, which sets no ValidationDirective; Kubernetes, "Field
// validation"; fluxcd/pkg, ssa/normalize.
func (r *Result) refused(c model.Component, objects []manifest.Object) []finding.Finding {
	if c.PreArgo || c.HasSyncOption(noValidation) || slices.ContainsFunc(c.Sources, func(s model.Source) bool {
		return s.Incomplete != "" || r.Platform.Flux != nil && s.Kind == model.Chart // Helm's validation is the chart's
	}) {
		return nil
	}
	written := r.isApplication(c)
	replaced := c.HasSyncOption(replacing)
	out := r.misnamed(c, objects)
	for _, o := range objects {
		if r.isPassedOver(o) {
			continue
		}
		options := manifest.Words(o.GetAnnotations()[syncOptionsAnnotation])
		p := strict.Look(o.Object)
		if replaced || slices.Contains(options, replacing) {
			p.Unknown = nil
		}
		if len(p.Unknown) == 0 && p.Field == "" || p.Field == "metadata.annotations" && isNumberedWave(o) || slices.Contains(options, noValidation) {
			continue // a wave that is a number is told as that
		}
		resource := o.Resource()
		f := finding.Finding{
			Rule: descriptor.RuleUnknown, Severity: finding.Error, Scope: finding.Rule, Component: c.Name, Resource: resource, Basis: finding.Rendered,
		}
		if len(p.Unknown) > 0 {
			f.Position = r.fieldAt(o.Origin.Position(), p.Unknown[0])
			outcome := "the API server refuses the object"
			switch {
			case r.Platform.Flux != nil && !slices.Contains(asWritten, resource.Kind):
				f.Severity, outcome = finding.Warning, "Flux leaves it out, and it has no effect"
			case written && !byServer(c, options) && isNull(o.Object, p.Unknown[0]):
				// A null takes away what is not there: both sides are equal.
				f.Severity, outcome = finding.Info, "it has no effect"
			case written && !byServer(c, options):
				f.Severity, outcome = finding.Warning, fmt.Sprintf("it has no effect, and %s is never in sync", c.Name)
			}
			f.Message = fmt.Sprintf("%s has the field %s, which a %s does not have: %s", resource.Human(), p.Unknown[0], resource.Kind, outcome)
			if more := len(p.Unknown) - 1; more > 0 {
				f.Message += fmt.Sprintf("; and %d more", more)
				for _, field := range p.Unknown[1:min(len(p.Unknown), 4)] {
					at := r.fieldAt(o.Origin.Position(), field)
					f.Evidence = append(f.Evidence, finding.Evidence{Text: field + ", too", File: at.File, Line: at.Line, Object: resource.String(), Field: field})
				}
			}
			f.Fix.Summary = "correct the name of the field, or move it to where it belongs"
		} else {
			f.Rule = descriptor.RuleInvalid
			f.Position = r.fieldAt(o.Origin.Position(), p.Field)
			verb := "is"
			if p.Within {
				verb = "has"
			}
			f.Message = fmt.Sprintf("%s of %s %s %s where it must be %s: the API server refuses the object", p.Field, resource.Human(), verb, typed(p.Value), wanted(p.Want))
			f.Fix.Summary = "write " + wanted(p.Want)
			if wanted(p.Want) == "text" && (p.Value == "number" || p.Value == "bool") {
				f.Fix.Summary = "put the value in quotes"
				if r.Platform.Flux != nil {
					f.Fix.Summary += "; where a variable of Flux is substituted, within the value of the variable"
				}
			}
		}
		out = append(out, f)
	}
	return out
}

// misnamed finds objects whose names the API server refuses: mostly all of a chart, which begin alike.
func (r *Result) misnamed(c model.Component, objects []manifest.Object) []finding.Finding {
	var out []finding.Finding
	more := 0
	for _, o := range objects {
		must := strict.Name(o.Object)
		if must == "" || r.isPassedOver(o) {
			continue
		}
		resource, at := o.Resource(), r.fieldAt(o.Origin.Position(), "metadata.name")
		if len(out) > 0 {
			if more++; more <= 3 {
				out[0].Evidence = append(out[0].Evidence, finding.Evidence{Text: resource.Human() + ", too", File: at.File, Line: at.Line, Object: resource.String(), Field: "metadata.name"})
			}
			continue
		}
		out = append(out, finding.Finding{
			Rule: descriptor.RuleInvalid, Severity: finding.Error, Scope: finding.Rule, Component: c.Name, Resource: resource, Position: at, Basis: finding.Rendered,
			Message: fmt.Sprintf("the API server refuses the name of %s: %s", resource.Human(), must),
			Fix:     finding.Fix{Summary: "choose another name; that of a chart's objects comes of its release, of fullnameOverride or of the alias of a dependency"},
		})
	}
	if more > 0 {
		out[0].Message += fmt.Sprintf("; and %s", finding.Count(more, "more object"))
	}
	return out
}

// isNull reports whether the field at a path, such as spec.containers[0].image, is null.
func isNull(object any, path string) bool {
	for _, step := range strings.Split(strings.ReplaceAll(path, "[", ".["), ".") {
		if number, indexed := strings.CutPrefix(step, "["); indexed {
			list, _ := object.([]any)
			i, err := strconv.Atoi(strings.TrimSuffix(number, "]"))
			if err != nil || i < 0 || i >= len(list) {
				return false
			}
			object = list[i]
			continue
		}
		fields, _ := object.(map[string]any)
		value, there := fields[step]
		if !there {
			return false
		}
		object = value
	}
	return object == nil
}

// typed names the type of a value in JSON.
func typed(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	switch kind {
	case "string":
		return "text"
	case "bool":
		return "a truth value"
	case "array":
		return "a list"
	case "object":
		return "a map"
	}
	return "a number"
}

// wanted names a kind of Go's types for people.
func wanted(of string) string {
	switch {
	case of == "string":
		return "text"
	case of == "bool":
		return "true or false"
	case strings.HasPrefix(of, "int"), strings.HasPrefix(of, "uint"):
		return "a whole number"
	case of == "slice":
		return "a list"
	}
	return "a map"
}

// isPassedOver reports whether no sync applies an object: a hook that Argo CD does not have,
// or one that Flux is told to leave. Source: Flux, Kustomization, "Controlling the
// reconciliation".
func (r *Result) isPassedOver(o manifest.Object) bool {
	if r.Platform.Flux == nil {
		phases, _ := manifest.SyncPhases(o.Unstructured)
		return len(phases) == 0
	}
	const group = "kustomize.toolkit.fluxcd.io/"
	for _, of := range []map[string]string{o.GetAnnotations(), o.GetLabels()} {
		if strings.EqualFold(of[group+"reconcile"], "disabled") || strings.EqualFold(of[group+"ssa"], "Ignore") {
			return true
		}
	}
	return false
}
