package flux

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
	"github.com/rollout-ladder/ladder/internal/manifest"
)

// releases reads the HelmReleases of the current cluster.
func (l *loader) releases() {
	var ids []string
	for id, o := range l.sources {
		if o.GetKind() == "HelmRelease" && o.GroupVersionKind().Group == groupHelm {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		l.release(l.sources[id])
	}
}

func (l *loader) release(o manifest.Object) {
	owner, err := strconv.Atoi(o.GetAnnotations()[ownerKey])
	if err != nil {
		owner = -1
	}
	var k *Kustomization
	if owner >= 0 {
		k = &l.current.Kustomizations[owner]
	}
	o = l.filled(o, owner)
	r := Release{
		Namespace: namespaceOf(o, k), Name: o.GetName(), Kustomization: owner, Position: o.Origin.Position(),
		ReleaseName: textAt(o.Object, "spec", "releaseName"), TargetNamespace: textAt(o.Object, "spec", "targetNamespace"),
		Suspend: flagAt(o.Object, "spec", "suspend"), Timeout: durationAt(o.Object, "spec", "timeout"),
		CreateNamespace: flagAt(o.Object, "spec", "install", "createNamespace"),
		SkipCRDs:        textAt(o.Object, "spec", "install", "crds") == "Skip",
	}
	if r.ReleaseName == "" {
		r.ReleaseName = r.Name
		// Source: Flux, HelmRelease "Release name": the target namespace comes before.
		if r.TargetNamespace != "" {
			r.ReleaseName = r.TargetNamespace + "-" + r.Name
		}
	}
	r.DependsOn = references(o, r.Namespace)
	l.chart(o, &r)
	l.values(o, &r)
	l.lost(o, &r)
	l.current.Releases = append(l.current.Releases, r)
}

func (l *loader) tell(r *Release, kind Kind, hint, format string, args ...any) {
	l.problem(Problem{Kind: kind, Name: r.Name, Position: r.Position, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

// chart finds the chart of a release.
func (l *loader) chart(o manifest.Object, r *Release) {
	if ref := mapAt(o.Object, "spec", "chartRef"); len(ref) > 0 {
		namespace := textAt(ref, "namespace")
		if namespace == "" {
			namespace = r.Namespace
		}
		source, ok := l.sources[key(textAt(ref, "kind"), namespace, textAt(ref, "name"))]
		switch {
		case !ok:
			l.tell(r, Source, "add it to the repository", "its chart is in the %s %s/%s, which is not in the repository", textAt(ref, "kind"), namespace, textAt(ref, "name"))
		case source.GetKind() == "OCIRepository":
			l.registry(source, r)
		case source.GetKind() == "HelmChart":
			l.fromSpec(mapAt(source.Object, "spec"), source.GetNamespace(), r)
		default:
			l.tell(r, Source, "", "its chart is in a %s", source.GetKind())
		}
		return
	}
	spec := mapAt(o.Object, "spec", "chart", "spec")
	if len(spec) == 0 {
		l.tell(r, Invalid, "", "it names no chart")
		return
	}
	l.fromSpec(spec, r.Namespace, r)
}

// registry reads an OCIRepository that holds one chart.
func (l *loader) registry(source manifest.Object, r *Release) {
	owner, err := strconv.Atoi(source.GetAnnotations()[ownerKey])
	if err == nil {
		source = l.filled(source, owner)
	}
	address := strings.TrimSuffix(textAt(source.Object, "spec", "url"), "/")
	slash := strings.LastIndexByte(address, '/')
	if !strings.HasPrefix(address, "oci://") || slash < len("oci://") || holdsVariable(address) {
		l.tell(r, Source, "", "the address of its OCIRepository %s is not known", source.GetName())
		return
	}
	r.Repository, r.Chart = withoutUser(address[:slash]), address[slash+1:]
	r.Version = textAt(source.Object, "spec", "ref", "tag")
	if semver := textAt(source.Object, "spec", "ref", "semver"); semver != "" {
		r.Version = semver
	}
	if digest := textAt(source.Object, "spec", "ref", "digest"); digest != "" {
		l.tell(r, Source, "name the version that has the digest", "its chart is chosen by digest, which is not carried over")
	}
}

// fromSpec reads a chart that a source has by name.
func (l *loader) fromSpec(spec map[string]any, namespace string, r *Release) {
	ref := mapAt(spec, "sourceRef")
	kind, name := textAt(ref, "kind"), textAt(ref, "name")
	if ns := textAt(ref, "namespace"); ns != "" {
		namespace = ns
	}
	chart, version := textAt(spec, "chart"), textAt(spec, "version")
	switch kind {
	case "HelmRepository":
		source, ok := l.sources[key(kind, namespace, name)]
		if !ok {
			l.tell(r, Source, "add it to the repository", "its HelmRepository %s/%s is not in the repository", namespace, name)
			return
		}
		if owner, err := strconv.Atoi(source.GetAnnotations()[ownerKey]); err == nil {
			source = l.filled(source, owner)
		}
		address := textAt(source.Object, "spec", "url")
		if address == "" || holdsVariable(address) {
			l.tell(r, Source, "", "the address of its HelmRepository %s is not known", name)
			return
		}
		if len(mapAt(source.Object, "spec", "secretRef")) > 0 {
			l.tell(r, Secret, "give Argo CD a repository Secret", "the credentials of the HelmRepository %s are not carried over", name)
		}
		r.Repository, r.Chart, r.Version = withoutUser(address), chart, version
	case "GitRepository":
		p := clean(chart)
		if l.isOwn(namespace, name, p) && l.tree.IsDir(p) {
			r.Path = p
			return
		}
		l.tell(r, Source, "vendor the chart into the repository", "its chart %s is in the GitRepository %s, not in this repository", chart, name)
	default:
		l.tell(r, Source, "vendor the chart into the repository", "its chart %s is in the %s %s", chart, kind, name)
	}
	for _, file := range listAt(spec, "valuesFiles") {
		l.tell(r, Values, "write them into a layer of values", "the values of %s in the chart are not carried over", path.Base(fmt.Sprint(file)))
	}
}

// withoutUser is an address without credentials.
func withoutUser(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	host, tail, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	if at < 0 {
		return address
	}
	return strings.TrimSuffix(scheme+"://"+host[at+1:]+"/"+tail, "/")
}

// values reads the values of ConfigMaps that the repository holds, then the
// inline ones. Those of Secrets are listed.
func (l *loader) values(o manifest.Object, r *Release) {
	for _, item := range listAt(o.Object, "spec", "valuesFrom") {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		l.valuesFrom(m, r)
	}
	inline := mapAt(o.Object, "spec", "values")
	if len(inline) == 0 {
		return
	}
	r.Values = append(r.Values, l.known(inline, "", r))
}

// known takes the values out that hold a variable without a value.
func (l *loader) known(values map[string]any, at string, r *Release) map[string]any {
	out := map[string]any{}
	for k, v := range values {
		p := yamlpos.Join(at, k)
		switch v := v.(type) {
		case map[string]any:
			out[k] = l.known(v, p, r)
			continue
		case string, []any:
			if l.substitutes(r) && holdsVariable(fmt.Sprint(v)) {
				l.tell(r, Substitution, "write it into the layer of values of each environment", "the value %s is left out: a variable in it is not known", p)
				continue
			}
		}
		out[k] = v
	}
	return out
}

// substitutes reports whether Flux fills in variables of a release.
func (l *loader) substitutes(r *Release) bool {
	if r.Kustomization < 0 {
		return false
	}
	_, _, ok := l.variables(l.current.Kustomizations[r.Kustomization])
	return ok
}

func (l *loader) valuesFrom(m map[string]any, r *Release) {
	kind, name, valuesKey := textAt(m, "kind"), textAt(m, "name"), textAt(m, "valuesKey")
	if valuesKey == "" {
		valuesKey = "values.yaml"
	}
	if kind == "Secret" {
		l.tell(r, Secret, "let the chart read the Secret itself", "values of the Secret %s are not carried over", name)
		return
	}
	o, ok := l.sources[key(kind, r.Namespace, name)]
	if !ok || kind != "ConfigMap" {
		l.tell(r, Values, "write them into a layer of values", "values of the %s %s are not carried over: it is not in the repository", kind, name)
		return
	}
	if owner, err := strconv.Atoi(o.GetAnnotations()[ownerKey]); err == nil {
		o = l.filled(o, owner)
	}
	text := textAt(o.Object, "data", valuesKey)
	if textAt(m, "targetPath") != "" || text == "" {
		l.tell(r, Values, "write them into a layer of values", "the value %s of the ConfigMap %s is not carried over", valuesKey, name)
		return
	}
	v, err := yamlpos.ParseOne(name, []byte(text))
	if err != nil {
		l.tell(r, Values, "", "the value %s of the ConfigMap %s is no YAML", valuesKey, name)
		return
	}
	if values, ok := v.Any().(map[string]any); ok && len(values) > 0 {
		r.Values = append(r.Values, l.known(values, "", r))
	}
}

// lost tells of settings of a release that are not carried over.
func (l *loader) lost(o manifest.Object, r *Release) {
	if len(listAt(o.Object, "spec", "postRenderers")) > 0 {
		l.tell(r, Option, "make a kustomization that inflates the chart and patches it", "postRenderers is not carried over")
	}
	if len(mapAt(o.Object, "spec", "kubeConfig")) > 0 {
		l.tell(r, Option, "say the cluster in the destination of the environment", "it is installed in another cluster (kubeConfig)")
	}
	if list := mapAt(o.Object, "spec", "commonMetadata"); len(list) > 0 {
		l.tell(r, Option, "", "commonMetadata is not carried over")
	}
	if flagAt(o.Object, "spec", "test", "enable") {
		l.problem(Problem{Kind: Option, Name: r.Name, Position: r.Position, Mild: true, Message: "its Helm tests are not carried over", Hint: "add a smoke: ladder new component"})
	}
}
