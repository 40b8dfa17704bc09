package flux

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
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
func (l *loader) references(o manifest.Object, namespace string) []Reference {
	var all []Reference
	for i, item := range listAt(o.Object, "spec", "dependsOn") {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		r := Reference{Namespace: textAt(m, "namespace"), Name: textAt(m, "name"), Expression: textAt(m, "readyExpr") != ""}
		r.Position = l.lines.Field(o.Origin.Position(), fmt.Sprintf("spec.dependsOn[%d]", i))
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
	at := o.Origin.Position()
	k := Kustomization{
		Namespace: namespaceOf(o, owner), Name: o.GetName(), Parent: parent, Suspend: flagAt(o.Object, "spec", "suspend"),
		Timeout: durationAt(o.Object, "spec", "timeout"), RetryInterval: durationAt(o.Object, "spec", "interval"),
		KubeConfig: kubeConfig(o), Decrypts: textAt(o.Object, "spec", "decryption", "provider") != "", Position: at, Options: options(o.Object),
	}
	if retry := durationAt(o.Object, "spec", "retryInterval"); retry > 0 {
		k.RetryInterval = retry
	}
	k.WaitAll = flagAt(o.Object, "spec", "wait")
	for _, item := range listAt(o.Object, "spec", "healthChecks") {
		if m, ok := item.(map[string]any); ok {
			k.HealthChecks = append(k.HealthChecks, Check{textAt(m, "apiVersion"), textAt(m, "kind"), textAt(m, "namespace"), textAt(m, "name")})
		}
	}
	k.Wait = k.WaitAll || len(k.HealthChecks) > 0
	k.DependsOn = l.references(o, k.Namespace)
	id := key("Kustomization", k.Namespace, k.Name)
	if _, known := l.seen[id]; known {
		return pending{}, false, nil
	}
	if len(l.seen) >= maxKustomizations {
		return pending{}, false, &repofs.InputError{Position: at, Message: fmt.Sprintf("there are more than %d Kustomizations", maxKustomizations)}
	}
	l.seen[id] = len(l.current.Kustomizations)
	l.postBuild(o, &k)
	if l.options.Import {
		l.optionsOf(o, &k)
	}
	k.Path = l.pathOf(o, &k)
	l.existingComponents(o, &k)
	l.current.Kustomizations = append(l.current.Kustomizations, k)
	// The root applies itself as well.
	if k.Path == "" || k.Path == l.root.path {
		return pending{}, false, nil
	}
	return pending{k.Path, len(l.current.Kustomizations) - 1}, true, nil
}

// kubeConfig names what gives access to another cluster; empty where none is written.
func kubeConfig(o manifest.Object) string {
	for _, field := range []string{"secretRef", "configMapRef"} {
		if name := textAt(o.Object, "spec", "kubeConfig", field, "name"); name != "" {
			return name
		}
	}
	return ""
}

// existingComponents leaves the components out that are not there, where Flux is told
// to.
func (l *loader) existingComponents(o manifest.Object, k *Kustomization) {
	list, ok := k.Options["components"].([]any)
	if !ok || k.Path == "" || !flagAt(o.Object, "spec", "ignoreMissingComponents") {
		return
	}
	k.Options["components"] = slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		return !l.tree.IsDir(path.Join(k.Path, fmt.Sprint(item)))
	})
}

// ownPath is a path of what is synced as one of the repository.
func (l *loader) ownPath(p string) string { return l.at(l.root.base, clean(p)) }

// pathOf is the folder of this repository that a Kustomization applies.
func (l *loader) pathOf(o manifest.Object, k *Kustomization) string {
	p := l.ownPath(textAt(o.Object, "spec", "path"))
	kind, name := textAt(o.Object, "spec", "sourceRef", "kind"), textAt(o.Object, "spec", "sourceRef", "name")
	namespace := textAt(o.Object, "spec", "sourceRef", "namespace")
	if namespace == "" {
		namespace = k.Namespace
	}
	switch {
	case strings.Contains(p, "$"):
		l.problem(Problem{Kind: Substitution, Name: k.Name, Position: k.Position, Message: "the path " + p + " has a variable that is not known"})
		k.Elsewhere = &Elsewhere{Kind: kind, Name: name, Path: p}
		return ""
	case kind == "ExternalArtifact":
		within := clean(textAt(o.Object, "spec", "path")) // from the top of the artifact
		for _, c := range l.artifacts[namespace+"/"+name] {
			rest, ok := strings.CutPrefix(within+"/", strings.TrimSuffix(c.to, "/")+"/")
			if c.to == "." {
				rest, ok = within, true
			}
			if folder := path.Join(c.from, rest); ok && l.tree.IsDir(folder) {
				return folder
			}
		}
		l.elsewhere(k, kind, namespace, name, p)
		return ""
	case l.isSynced(name) && l.tree.IsDir(p):
		return p // what is synced, of whatever kind
	case kind == "GitRepository" && l.isOwn(namespace, name, p):
		return p
	case kind == "OCIRepository":
		if folder := l.packedPath(namespace, name, clean(textAt(o.Object, "spec", "path"))); folder != "" {
			return folder
		}
	}
	l.elsewhere(k, kind, namespace, name, p)
	return ""
}

// sourceless says of a Kustomization that it names no source.
const sourceless = "it has no spec.sourceRef, so that Flux refuses it"

func (l *loader) elsewhere(k *Kustomization, kind, namespace, name, folder string) {
	k.Elsewhere = &Elsewhere{Kind: kind, Name: name, Path: folder}
	if o, ok := l.sources[key(kind, namespace, name)]; ok {
		k.Elsewhere.URL, k.Elsewhere.Revision = finding.WithoutUser(textAt(o.Object, "spec", "url")), revisionOf(o)
	} else {
		k.Elsewhere.Unwritten = !l.isSynced(name) && !l.isWritten(kind, name)
	}
	p := Problem{
		Kind: Source, Name: k.Name, Position: k.Position, Hint: "vendor it into the repository",
		Message: fmt.Sprintf("what it applies is in the %s %s, not in this repository", kind, name),
	}
	if kind == "" && name == "" {
		p.Message, p.Hint = sourceless, "name a source in spec.sourceRef"
	}
	l.problem(p)
}

// isWritten reports whether a source of a name is written anywhere in the repository, or may be:
// a name may have variables, and above the platform nobody looked.
func (l *loader) isWritten(kind, name string) bool {
	return l.top != "." || strings.Contains(name, "$") || l.written[key(kind, "", name)].address != ""
}

// revisionOf is what a source follows, the most particular first.
func revisionOf(o manifest.Object) string {
	for _, field := range []string{"commit", "digest", "tag", "semver", "name", "branch"} {
		if text := textAt(o.Object, "spec", "ref", field); text != "" {
			return text
		}
	}
	return ""
}

// isOwn reports whether a GitRepository is this repository: that of the root, one of
// its address, or one of which nothing says otherwise and which has the folder.
func (l *loader) isOwn(namespace, name, p string) bool {
	if l.isSynced(name) {
		return l.tree.IsDir(p) || !l.isSeed()
	}
	source, known := l.sources[key("GitRepository", namespace, name)]
	if !known {
		if l.root.sourced && !l.isWritten("GitRepository", name) {
			return false // the root has its own, and nothing makes this one
		}
		return p != l.at(l.root.base, ".") && l.tree.IsDir(p) && !l.isAnother(name) // every repository has a top folder
	}
	address := textAt(source.Object, "spec", "url")
	if own := l.ownAddress(); own != "" && address != "" {
		return sameRepository(own, address) && l.tree.IsDir(p)
	}
	if l.isOfAnother(address) {
		return false
	}
	// The repository of a root has the folder of the root; another one rarely has
	// the same folders.
	return len(l.root.path) > 0 && l.tree.IsDir(p) && textAt(source.Object, "spec", "include") == "" && p != l.at(l.root.base, ".")
}

// isSeed reports whether the repository that clusters sync is another one, which files of this one
// are copied to: nothing here writes that source, and another one has the address of this repository.
func (l *loader) isSeed() bool {
	if l.written[key("GitRepository", "", systemName)].address != "" {
		return false
	}
	c, err := checkout.Read(l.tree.Repository)
	if err != nil || c.URL == "" {
		return false
	}
	for _, source := range l.written {
		// A template has a placeholder for the owner.
		if source.address != "" && path.Base(plainAddress(c.URL)) == path.Base(plainAddress(source.address)) {
			return true
		}
	}
	return false
}

// isAnother reports whether a GitRepository that nothing has applied so far is written in the
// repository with the address of another one. The address that this one was cloned from may be
// a fork's.
func (l *loader) isAnother(name string) bool {
	address := l.written[key("GitRepository", "", name)].address
	if own := l.ownAddress(); own != "" || address == "" {
		return address != "" && !sameRepository(own, address)
	}
	return l.isOfAnother(address)
}

// isOfAnother reports whether an address is that of a repository with another name than this one,
// which may be a fork.
func (l *loader) isOfAnother(address string) bool {
	c, err := checkout.Read(l.tree.Repository)
	return address != "" && !holdsVariable(address) && err == nil && c.URL != "" && path.Base(plainAddress(c.URL)) != path.Base(plainAddress(address))
}

// ownAddress is that of what is synced; empty where it is not known.
func (l *loader) ownAddress() string {
	if l.root.address != "" {
		return l.root.address
	}
	if o, ok := l.sources[key("GitRepository", systemName, systemName)]; ok {
		return textAt(o.Object, "spec", "url")
	}
	return ""
}

// generator reads which folders the artifacts of an ArtifactGenerator hold.
func (l *loader) generator(o manifest.Object) {
	if o.GroupVersionKind().Group != groupExtension || o.GetKind() != "ArtifactGenerator" {
		return
	}
	own := map[string]bool{}
	for _, item := range listAt(o.Object, "spec", "sources") {
		// What is synced is this repository, also as an OCI artifact.
		if m, ok := item.(map[string]any); ok && (textAt(m, "kind") == "GitRepository" || l.isSynced(textAt(m, "name"))) {
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
				l.artifacts[id] = append(l.artifacts[id], copied{from: l.ownPath(from), to: clean(to)})
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
	if older := olderPatches(spec); len(older) > 0 {
		patches, _ := out["patches"].([]any)
		out["patches"] = append(slices.Clone(patches), older...)
	}
	return out
}

// olderPatches are the patches of the fields that older versions of Flux have, in the
// form of the newer one.
func olderPatches(spec map[string]any) []any {
	var all []any
	for _, item := range listAt(spec, "patchesStrategicMerge") {
		if text, err := json.Marshal(item); err == nil {
			all = append(all, map[string]any{"patch": string(text)})
		}
	}
	for _, item := range listAt(spec, "patchesJson6902") {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if text, err := json.Marshal(m["patch"]); err == nil {
			all = append(all, map[string]any{"patch": string(text), "target": m["target"]})
		}
	}
	return all
}

// metadataOf are the labels and annotations that a Kustomization gives to everything.
func metadataOf(o map[string]any) (labels, annotations map[string]string) {
	words := func(m map[string]any) map[string]string {
		out := map[string]string{}
		for name, value := range m {
			out[name] = fmt.Sprint(value)
		}
		return out
	}
	if list, _ := o["labels"].([]any); len(list) == 1 {
		if m, ok := list[0].(map[string]any); ok {
			labels = words(mapAt(m, "pairs"))
		}
	}
	if m, ok := o["commonAnnotations"].(map[string]any); ok {
		annotations = words(m)
	}
	return labels, annotations
}

// kustomizeOptions are the options in the form that builds take.
func kustomizeOptions(o map[string]any) *model.KustomizeOptions {
	k := &model.KustomizeOptions{LabelWithoutSelector: true, Generate: true}
	k.CommonLabels, k.CommonAnnotations = metadataOf(o)
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
	for _, item := range listAt(spec, "healthChecks") {
		if m, ok := item.(map[string]any); ok {
			tell(Option, true, "", "its health check of %s %s is not carried over: a component is ready when everything in it is", textAt(m, "kind"), textAt(m, "name"))
		}
	}
	for _, source := range k.Unknown {
		tell(Substitution, false, "write the values into the manifests, or into layers of values", "variables of the %s are not filled in", source)
	}
	if flagAt(spec, "force") {
		tell(Option, true, "", "force is not carried over")
	}
}

// keep sorts the objects of a folder: what is Flux's own is removed, and for an import
// what is encrypted and Flux itself.
func (l *loader) keep(k *Kustomization, objects []manifest.Object) {
	encrypted := l.encrypted(k)
	for _, o := range objects {
		id := Identity{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}
		switch {
		case isFlux(o.GroupVersionKind().Group):
			k.Removed = append(k.Removed, id)
		case l.options.Import && o.GetLabels()["app.kubernetes.io/part-of"] == "flux":
			k.Removed = append(k.Removed, id)
		case encrypted[id]:
			k.Removed = append(k.Removed, id)
			l.problem(Problem{
				Kind: Secret, Name: k.Name, Position: o.Origin.Position(),
				Message: fmt.Sprintf("the encrypted %s %s is not carried over", o.GetKind(), o.GetName()),
				Hint:    "make an ExternalSecret or a SealedSecret of it",
			})
		default:
			if !k.Decrypts && k.Encrypted.File == "" && l.isEncrypted(o) {
				k.Encrypted = o.Origin.Position()
			}
			k.Objects = append(k.Objects, o)
			l.unfilled(k, o)
		}
	}
}

// encrypted are the objects of a Kustomization that are encrypted, for an import.
func (l *loader) encrypted(k *Kustomization) map[Identity]bool {
	if !l.options.Import || k.PostBuild == nil {
		return nil
	}
	src := k.source()
	src.PostBuild = nil
	plain, err := l.build(src)
	if err != nil {
		return nil
	}
	found := map[Identity]bool{}
	for _, o := range plain {
		if _, ok := o.Object["sops"]; ok {
			found[Identity{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}] = true
		}
	}
	return found
}
