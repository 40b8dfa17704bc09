package flux

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/resourceset"
)

// filled are the objects that a ResourceSet makes.
type filled struct {
	objects []map[string]any
	err     error
}

// mostSlow is how many ResourceSets may take too long, or go over another limit, before no more are
// filled in.
const mostSlow = 10

var errSlow = errors.New("too many sets take too long")

// fill fills in the templates of a ResourceSet, once for all clusters that have the same.
func (l *loader) fill(set resourceset.Set) ([]map[string]any, error) {
	id, err := json.Marshal(set)
	if err != nil {
		return nil, err
	}
	known, ok := l.filled[string(id)]
	switch {
	case ok:
		return known.objects, known.err
	case l.slow == mostSlow:
		return nil, errSlow
	}
	objects, err := l.options.Set(l.ctx, set)
	if over := (*confine.LimitError)(nil); errors.As(err, &over) {
		l.slow++
	}
	if l.ctx.Err() == nil {
		l.filled[string(id)] = filled{objects, err}
	}
	return objects, err
}

// ofSet are the objects of Flux that a ResourceSet makes; Namespaces that it makes at the start of
// the cluster are there for everything. Whole is not set where it makes others as well, and
// where it is not known what it makes: inputs that a provider has, and templates that cannot be
// filled in. Source: flux-operator, ResourceSet API reference.
func (l *loader) ofSet(set manifest.Object, k *Kustomization) (made []manifest.Object, whole bool) {
	spec := mapAt(set.Object, "spec")
	if strings.EqualFold(set.GetAnnotations()["fluxcd.controlplane.io/reconcile"], "disabled") {
		return nil, true
	}
	if len(listAt(spec, "inputsFrom")) > 0 || textAt(spec, "inputStrategy", "name") == "Permute" || len(listAt(spec, "steps")) > 0 {
		return nil, false
	}
	namespace := namespaceOf(set, k)
	provider := map[string]any{"apiVersion": set.GetAPIVersion(), "kind": set.GetKind(), "name": set.GetName(), "namespace": namespace}
	question := resourceset.Set{Resources: listAt(spec, "resources"), Template: textAt(spec, "resourcesTemplate")}
	for _, input := range listAt(spec, "inputs") {
		given, _ := input.(map[string]any)
		values := map[string]any{}
		maps.Copy(values, given)
		values["provider"] = provider
		question.Inputs = append(question.Inputs, values)
	}
	objects, err := l.fill(question)
	if err != nil {
		return nil, false
	}
	waits, _ := spec["wait"].(bool)
	whole = true
	for _, object := range objects {
		o := manifest.Object{Unstructured: &unstructured.Unstructured{Object: object}, Origin: set.Origin}
		if o.GroupVersionKind().GroupKind() == namespaces && !l.options.Import && l.atStart(k) {
			l.current.namespaces = append(l.current.namespaces, o.GetName())
			continue
		}
		if !isFlux(o.GroupVersionKind().Group) || o.GetName() == "" || o.GetKind() == set.GetKind() {
			whole = false
			continue
		}
		o.Unstructured = o.DeepCopy()
		if o.GetNamespace() == "" {
			o.SetNamespace(namespace)
		}
		if !waits {
			if l.current.unawaited == nil {
				l.current.unawaited = map[string]bool{}
			}
			l.current.unawaited[key(o.GetKind(), o.GetNamespace(), o.GetName())] = true
		}
		made = append(made, o)
	}
	return made, whole
}

// namespaces is the kind Namespace.
var namespaces = schema.GroupKind{Kind: "Namespace"}

// atStart reports whether nothing comes before a Kustomization but those that apply it.
func (l *loader) atStart(k *Kustomization) bool {
	for k != nil && len(k.DependsOn) == 0 {
		if k.Parent < 0 {
			return true
		}
		k = &l.current.Kustomizations[k.Parent]
	}
	return k == nil
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
