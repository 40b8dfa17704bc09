package flux

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/intake/files"
	"github.com/rollout-ladder/ladder/internal/manifest"
)

// The accessors of unstructured objects return nothing for a wrong type, which is
// what an importer wants: Flux would refuse the object.

func textAt(o map[string]any, fields ...string) string {
	s, _, _ := unstructured.NestedString(o, fields...)
	return s
}

func flagAt(o map[string]any, fields ...string) bool {
	b, _, _ := unstructured.NestedBool(o, fields...)
	return b
}

func listAt(o map[string]any, fields ...string) []any {
	v, _, _ := unstructured.NestedFieldNoCopy(o, fields...)
	list, _ := v.([]any)
	return list
}

func mapAt(o map[string]any, fields ...string) map[string]any {
	v, _, _ := unstructured.NestedFieldNoCopy(o, fields...)
	m, _ := v.(map[string]any)
	return m
}

func durationAt(o map[string]any, fields ...string) time.Duration {
	d, err := time.ParseDuration(textAt(o, fields...))
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// references are entries of dependsOn; the namespace is that of the object where
// none is written.
func references(o manifest.Object, namespace string) []Reference {
	var all []Reference
	for _, item := range listAt(o.Object, "spec", "dependsOn") {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		r := Reference{Namespace: textAt(m, "namespace"), Name: textAt(m, "name"), Position: o.Origin.Position()}
		if r.Namespace == "" {
			r.Namespace = namespace
		}
		if r.Name != "" {
			all = append(all, r)
		}
	}
	return all
}

// kustomization reads a Kustomization and returns the folder that it applies; ok
// is false where that is elsewhere or read already.
func (l *loader) kustomization(o manifest.Object, parent int) (next pending, ok bool, err error) {
	var owner *Kustomization
	if parent >= 0 {
		owner = &l.current.Kustomizations[parent]
	}
	o = l.filled(o, parent)
	at := o.Origin.Position()
	k := Kustomization{
		Namespace: namespaceOf(o, owner), Name: o.GetName(), Parent: parent, Suspend: flagAt(o.Object, "spec", "suspend"),
		Timeout: durationAt(o.Object, "spec", "timeout"), Position: at, Options: options(o.Object),
	}
	k.Wait = flagAt(o.Object, "spec", "wait") || len(listAt(o.Object, "spec", "healthChecks")) > 0
	k.DependsOn = references(o, k.Namespace)
	id := key("Kustomization", k.Namespace, k.Name)
	if _, known := l.seen[id]; known {
		return pending{}, false, nil
	}
	if len(l.seen) >= maxKustomizations {
		return pending{}, false, &files.InputError{Position: at, Message: fmt.Sprintf("there are more than %d Kustomizations", maxKustomizations)}
	}
	l.seen[id] = len(l.current.Kustomizations)
	l.sources[id] = o
	l.optionsOf(o, &k)
	k.Path = l.pathOf(o, &k)
	l.current.Kustomizations = append(l.current.Kustomizations, k)
	// The root applies itself as well.
	if k.Path == "" || k.Path == l.root {
		return pending{}, false, nil
	}
	return pending{k.Path, len(l.current.Kustomizations) - 1}, true, nil
}

// pathOf is the folder of this repository that a Kustomization applies.
func (l *loader) pathOf(o manifest.Object, k *Kustomization) string {
	p := clean(textAt(o.Object, "spec", "path"))
	kind, name := textAt(o.Object, "spec", "sourceRef", "kind"), textAt(o.Object, "spec", "sourceRef", "name")
	namespace := textAt(o.Object, "spec", "sourceRef", "namespace")
	if namespace == "" {
		namespace = k.Namespace
	}
	switch {
	case strings.Contains(p, "$"):
		l.problem(Problem{Kind: Substitution, Name: k.Name, Position: k.Position, Message: "the path " + p + " has a variable that is not known"})
		return ""
	case kind == "ExternalArtifact":
		for _, c := range l.artifacts[namespace+"/"+name] {
			rest, ok := strings.CutPrefix(p+"/", strings.TrimSuffix(c.to, "/")+"/")
			if c.to == "." {
				rest, ok = p, true
			}
			if folder := path.Join(c.from, rest); ok && l.tree.IsDir(folder) {
				return folder
			}
		}
		l.elsewhere(k, kind, name)
		return ""
	case kind == "Bucket" || kind == "OCIRepository":
		l.elsewhere(k, kind, name)
		return ""
	case kind == "GitRepository" && !l.isOwn(namespace, name, p):
		l.elsewhere(k, kind, name)
		return ""
	}
	return p
}

func (l *loader) elsewhere(k *Kustomization, kind, name string) {
	l.problem(Problem{
		Kind: Source, Name: k.Name, Position: k.Position, Hint: "vendor it into the repository",
		Message: fmt.Sprintf("what it applies is in the %s %s, not in this repository", kind, name),
	})
}

// isOwn reports whether a GitRepository is this repository: that of the root, or
// one of which nothing says otherwise and which has the folder.
func (l *loader) isOwn(namespace, name, p string) bool {
	if name == "flux-system" {
		return true
	}
	source, known := l.sources[key("GitRepository", namespace, name)]
	if !known {
		return l.tree.IsDir(p)
	}
	// The repository of a root has the folder of the root; another one rarely has
	// the same folders.
	return len(l.root) > 0 && l.tree.IsDir(p) && textAt(source.Object, "spec", "include") == "" && p != "."
}

// generator reads which folders the artifacts of an ArtifactGenerator hold.
func (l *loader) generator(o manifest.Object) {
	if o.GroupVersionKind().Group != groupExtension || o.GetKind() != "ArtifactGenerator" {
		return
	}
	own := map[string]bool{}
	for _, item := range listAt(o.Object, "spec", "sources") {
		if m, ok := item.(map[string]any); ok && textAt(m, "kind") == "GitRepository" {
			own[textAt(m, "alias")] = true
		}
	}
	for _, item := range listAt(o.Object, "spec", "artifacts") {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		id := o.GetNamespace() + "/" + textAt(m, "name")
		for _, entry := range listAt(m, "copy") {
			c, ok := entry.(map[string]any)
			if !ok {
				continue
			}
			alias, from, _ := strings.Cut(strings.TrimPrefix(textAt(c, "from"), "@"), "/")
			_, to, _ := strings.Cut(textAt(c, "to"), "/")
			if own[alias] {
				from = strings.TrimSuffix(strings.TrimSuffix(from, "**"), "*")
				l.artifacts[id] = append(l.artifacts[id], copied{from: clean(from), to: clean(to)})
			}
		}
		// The most particular place comes first.
		slices.SortStableFunc(l.artifacts[id], func(a, b copied) int { return len(b.to) - len(a.to) })
	}
}

// options are what a Kustomization sets over a folder, as a kustomization has it.
func options(o map[string]any) map[string]any {
	out := map[string]any{}
	spec := mapAt(o, "spec")
	for _, name := range []string{"patches", "images", "components", "namePrefix", "nameSuffix"} {
		if v, ok := spec[name]; ok && v != nil {
			out[name] = v
		}
	}
	if ns := textAt(spec, "targetNamespace"); ns != "" {
		out["namespace"] = ns
	}
	if labels := mapAt(spec, "commonMetadata", "labels"); len(labels) > 0 {
		out["labels"] = []any{map[string]any{"pairs": labels}}
	}
	if annotations := mapAt(spec, "commonMetadata", "annotations"); len(annotations) > 0 {
		out["commonAnnotations"] = annotations
	}
	// Older fields, which are patches of the newer form.
	for _, name := range []string{"patchesStrategicMerge", "patchesJson6902"} {
		if v, ok := spec[name]; ok && v != nil {
			out[name] = v
		}
	}
	return out
}

// kustomizeOptions are the options in the form that builds take.
func kustomizeOptions(o map[string]any) *component.KustomizeOptions {
	if len(o) == 0 {
		return nil
	}
	k := &component.KustomizeOptions{LabelWithoutSelector: true}
	k.NamePrefix, _ = o["namePrefix"].(string)
	k.NameSuffix, _ = o["nameSuffix"].(string)
	k.Namespace, _ = o["namespace"].(string)
	k.Patches, _ = o["patches"].([]any)
	if list, ok := o["components"].([]any); ok {
		for _, item := range list {
			k.Components = append(k.Components, fmt.Sprint(item))
		}
	}
	if list, ok := o["images"].([]any); ok {
		for _, item := range list {
			m, ok := item.(map[string]any)
			if !ok {
				continue
			}
			text := textAt(m, "name")
			if name := textAt(m, "newName"); name != "" {
				text += "=" + name
			}
			if tag := textAt(m, "newTag"); tag != "" {
				text += ":" + tag
			}
			if digest := textAt(m, "digest"); digest != "" {
				text += "@" + digest
			}
			k.Images = append(k.Images, text)
		}
	}
	return k
}

// optionsOf tells of settings of a Kustomization that are not carried over.
func (l *loader) optionsOf(o manifest.Object, k *Kustomization) {
	spec := mapAt(o.Object, "spec")
	tell := func(kind Kind, mild bool, hint, format string, args ...any) {
		l.problem(Problem{Kind: kind, Name: k.Name, Mild: mild, Position: k.Position, Hint: hint, Message: fmt.Sprintf(format, args...)})
	}
	if len(mapAt(spec, "kubeConfig")) > 0 {
		tell(Option, false, "say the cluster in the destination of the environment", "it is applied to another cluster (kubeConfig)")
	}
	if len(listAt(spec, "healthCheckExprs")) > 0 {
		tell(Option, false, "write health: with an expression over object", "healthCheckExprs is not carried over")
	}
	for _, name := range []string{"patchesStrategicMerge", "patchesJson6902"} {
		if _, ok := spec[name]; ok {
			tell(Option, false, "write it as patches, which are carried over", "%s is not carried over", name)
			delete(k.Options, name)
		}
	}
	for _, item := range listAt(spec, "healthChecks") {
		if m, ok := item.(map[string]any); ok {
			tell(Option, true, "", "its health check of %s %s is not carried over: a component is ready when everything in it is", textAt(m, "kind"), textAt(m, "name"))
		}
	}
	for _, item := range listAt(spec, "postBuild", "substituteFrom") {
		if m, ok := item.(map[string]any); ok {
			tell(Substitution, false, "write the values into the manifests, or into layers of values", "variables of the %s %s are not filled in", textAt(m, "kind"), textAt(m, "name"))
		}
	}
	if flagAt(spec, "force") {
		tell(Option, true, "", "force is not carried over")
	}
}

// keep sorts the objects of a folder: what is Flux's own or encrypted is removed.
func (l *loader) keep(k *Kustomization, objects []manifest.Object) {
	index := l.seen[key("Kustomization", k.Namespace, k.Name)]
	for _, o := range objects {
		group := o.GroupVersionKind().Group
		id := Identity{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}
		_, encrypted := o.Object["sops"]
		switch {
		case isFlux(group):
			k.Removed = append(k.Removed, id)
		case encrypted:
			k.Removed = append(k.Removed, id)
			l.problem(Problem{
				Kind: Secret, Name: k.Name, Position: o.Origin.Position(),
				Message: fmt.Sprintf("the encrypted %s %s is not carried over", o.GetKind(), o.GetName()),
				Hint:    "make an ExternalSecret or a SealedSecret of it",
			})
		default:
			filled := l.filled(o, index)
			if filled.Unstructured != o.Unstructured {
				k.Filled = true
			}
			k.Objects = append(k.Objects, filled)
		}
	}
}

// filled fills in the variables of the Kustomization that applies an object. The
// object is returned itself where there are none.
func (l *loader) filled(o manifest.Object, owner int) manifest.Object {
	if owner < 0 || owner >= len(l.current.Kustomizations) {
		return o
	}
	k := l.current.Kustomizations[owner]
	variables, complete, ok := l.variables(k)
	if !ok || o.GetAnnotations()[groupKustomize+"/substitute"] == "disabled" || o.GetLabels()[groupKustomize+"/substitute"] == "disabled" {
		return o
	}
	s := substitution{variables: variables, complete: complete, room: &l.room}
	out := o
	out.Unstructured = &unstructured.Unstructured{Object: mapOf(s.value(o.Object))}
	if !s.used {
		return o
	}
	if l.room < 0 {
		l.problem(Problem{
			Kind: Substitution, Name: k.Name, Position: o.Origin.Position(), Hint: "write the values into the manifests",
			Message: fmt.Sprintf("its variables are not filled in: those of all objects add more than %d MiB", maxFilled>>20),
		})
		return o
	}
	slices.Sort(s.unknown)
	for _, name := range slices.Compact(s.unknown) {
		l.problem(Problem{
			Kind: Substitution, Name: k.Name, Position: o.Origin.Position(), Hint: "write the value into the manifest, or into layers of values",
			Message: fmt.Sprintf("the variable %s in %s %s is not known", name, o.GetKind(), o.GetName()),
		})
	}
	return out
}

func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// variables are those that a Kustomization itself gives; complete is set where it
// takes none from elsewhere, ok is false where it fills in none.
func (l *loader) variables(k Kustomization) (all map[string]string, complete, ok bool) {
	o, ok := l.sources[key("Kustomization", k.Namespace, k.Name)]
	if !ok || len(mapAt(o.Object, "spec", "postBuild")) == 0 {
		return nil, false, false
	}
	all = map[string]string{}
	for name, value := range mapAt(o.Object, "spec", "postBuild", "substitute") {
		if _, isMap := value.(map[string]any); !isMap && value != nil {
			all[name] = fmt.Sprint(value)
		}
	}
	return all, len(listAt(o.Object, "spec", "postBuild", "substituteFrom")) == 0, true
}
