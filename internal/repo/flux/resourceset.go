package flux

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// mostOfSet is how many objects of one ResourceSet are read.
const mostOfSet = 1000

// inputReference is a template of a ResourceSet that is nothing but one of its inputs.
var inputReference = lazyregexp.New(`<<-?\s*inputs((?:\.[A-Za-z0-9_-]+)+)\s*(?:\|\s*quote\s*)?-?>>`)

// ofSet are the objects of Flux that a ResourceSet makes, one of each of its resources for each of
// its inputs. Whole is not set where it makes others as well: inputs that a provider has,
// templates that are more than an input, and objects that are not Flux's. Source:
// flux-operator, ResourceSet API reference.
func (l *loader) ofSet(set manifest.Object, k *Kustomization) (made []manifest.Object, whole bool) {
	spec := mapAt(set.Object, "spec")
	if strings.EqualFold(set.GetAnnotations()["fluxcd.controlplane.io/reconcile"], "disabled") {
		return nil, true
	}
	if len(listAt(spec, "inputsFrom")) > 0 || textAt(spec, "inputStrategy", "name") == "Permute" {
		return nil, false
	}
	inputs := listAt(spec, "inputs")
	if len(inputs) == 0 {
		inputs = []any{map[string]any{}}
	}
	namespace := namespaceOf(set, k)
	provider := map[string]any{"apiVersion": set.GetAPIVersion(), "kind": set.GetKind(), "name": set.GetName(), "namespace": namespace}
	whole = textAt(spec, "resourcesTemplate") == ""
	for _, input := range inputs {
		values := map[string]any{"provider": provider}
		given, _ := input.(map[string]any)
		for name, value := range given {
			values[name] = value
		}
		for _, resource := range listAt(spec, "resources") {
			if len(made) == mostOfSet {
				return made, false
			}
			template, _ := resource.(map[string]any)
			filled, _ := withInputs(template, values).(map[string]any)
			o := manifest.Object{Unstructured: &unstructured.Unstructured{Object: filled}, Origin: set.Origin}
			if !isFlux(o.GroupVersionKind().Group) || strings.Contains(o.GetNamespace()+o.GetName(), "<<") || o.GetName() == "" || o.GetKind() == set.GetKind() {
				whole = false
				continue
			}
			if o.GetNamespace() == "" {
				o.SetNamespace(namespace)
			}
			made = append(made, o)
		}
	}
	return made, whole
}

// withInputs is a copy of a value with the inputs that its texts name filled in. What else a
// template says stays as it is written.
func withInputs(v any, inputs map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = withInputs(value, inputs)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withInputs(v[i], inputs)
		}
		return out
	case string:
		return inputReference.ReplaceAllStringFunc(v, func(reference string) string {
			path := strings.Split(inputReference.FindStringSubmatch(reference)[1], ".")[1:]
			var at any = inputs
			for _, name := range path {
				m, _ := at.(map[string]any)
				at = m[name]
			}
			switch at.(type) {
			case string, bool, int64, float64:
				return fmt.Sprint(at)
			}
			return reference
		})
	}
	return v
}

// withSets adds what ResourceSets make to the objects of a Kustomization, and tells of those that
// make more than is read.
func (l *loader) withSets(objects []manifest.Object, k *Kustomization) []manifest.Object {
	var made []manifest.Object
	for _, o := range objects {
		if o.GroupVersionKind().Group != groupInstance || o.GetKind() != "ResourceSet" {
			continue
		}
		of, whole := l.ofSet(o, k)
		made = append(made, of...)
		if whole {
			continue
		}
		reason := "the objects that its templates make are not read"
		if len(of) > 0 {
			reason = "of the objects that its templates make only those of Flux are read"
		}
		l.result.Left = append(l.result.Left, Left{Kind: "ResourceSet", Name: o.GetName(), Cluster: l.current.Name, Position: o.Origin.Position(), Reason: reason})
	}
	if len(made) == 0 {
		return objects
	}
	return append(objects[:len(objects):len(objects)], made...)
}
