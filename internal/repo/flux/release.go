package flux

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

func (l *loader) release(a applied) {
	o := a.object
	var k *Kustomization
	if a.by >= 0 {
		k = &l.current.Kustomizations[a.by]
	}
	r := Release{
		Namespace: namespaceOf(o, k), Name: o.GetName(), Kustomization: a.by, Remote: l.current.remote(a.by), Also: a.also, Position: o.Origin.Position(),
		ReleaseName: textAt(o.Object, "spec", "releaseName"), TargetNamespace: textAt(o.Object, "spec", "targetNamespace"),
		Suspend: flagAt(o.Object, "spec", "suspend"), Timeout: durationAt(o.Object, "spec", "timeout"), KubeConfig: kubeConfig(o),
		CreateNamespace: flagAt(o.Object, "spec", "install", "createNamespace"),
		SkipCRDs:        textAt(o.Object, "spec", "install", "crds") == "Skip" || flagAt(o.Object, "spec", "install", "skipCRDs"),
		Waits:           !flagAt(o.Object, "spec", "install", "disableWait"),
	}
	r.Retries, r.RetryInterval = retries(o, l.retries)
	if r.ReleaseName == "" {
		r.ReleaseName = r.Name
		// Source: Flux, HelmRelease "Release name": the target namespace comes before.
		if r.TargetNamespace != "" {
			r.ReleaseName = r.TargetNamespace + "-" + r.Name
		}
	}
	r.DependsOn = l.references(o, r.Namespace)
	l.chart(o, &r)
	l.values(o, &r)
	r.PostRendered = len(listAt(o.Object, "spec", "postRenderers")) > 0
	if l.options.Import {
		l.lost(o, &r)
	}
	l.current.Releases = append(l.current.Releases, r)
}

// retries reports whether an install that fails is tried again: by the strategy, after a time of
// its own, or as often as remediation says, which is never where it says nothing. Without a
// strategy it is the default one. Source: helm-controller, api/v2, Install.
func retries(o manifest.Object, byDefault bool) (again bool, every time.Duration) {
	if name := textAt(o.Object, "spec", "install", "strategy", "name"); name == "RetryOnFailure" || name == "" && byDefault {
		return true, cmp.Or(durationAt(o.Object, "spec", "install", "strategy", "retryInterval"), 5*time.Minute)
	}
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "install", "remediation", "retries")
	return n != 0, 0
}

func (l *loader) tell(r *Release, kind Kind, hint, format string, args ...any) {
	l.problem(Problem{Kind: kind, Name: r.Name, Position: r.Position, Hint: hint, Message: fmt.Sprintf(format, args...)})
}

// unknown records why the chart of a release is not known.
func (l *loader) unknown(r *Release, kind Kind, hint, format string, args ...any) {
	r.Unknown = fmt.Sprintf(format, args...)
	l.tell(r, kind, hint, "%s", r.Unknown)
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
			kind, name := textAt(ref, "kind"), textAt(ref, "name")
			why, hint := l.lacking(kind, name)
			l.unknown(r, Source, hint, "its chart is in the %s %s/%s, which %s", kind, namespace, name, why)
		case source.GetKind() == "OCIRepository":
			l.registry(source, r)
		case source.GetKind() == "HelmChart":
			l.fromSpec(mapAt(source.Object, "spec"), namespace, r)
		default:
			l.unknown(r, Source, "", "its chart is in a %s", source.GetKind())
		}
		return
	}
	spec := mapAt(o.Object, "spec", "chart", "spec")
	if len(spec) == 0 {
		l.unknown(r, Invalid, "", "it names no chart")
		return
	}
	l.fromSpec(spec, r.Namespace, r)
}

// lacking says why a source is not there, and what to do: it is in another namespace,
// nothing writes it, or the cluster does not apply what does.
func (l *loader) lacking(kind, name string) (why, hint string) {
	for _, id := range slices.Sorted(maps.Keys(l.sources)) {
		if o := l.sources[id]; o.GetKind() == kind && o.GetName() == name {
			return fmt.Sprintf("is not in the repository; %s has one of that name in another namespace", o.Origin.Position()), "name its namespace in sourceRef"
		}
	}
	at, ok := l.written[key(kind, "", name)]
	if !ok {
		return "is not in the repository", "add it to the repository"
	}
	return fmt.Sprintf("is not applied in this cluster; %s has one of that name, which nothing here applies", at.position), "apply it in this cluster, in the namespace that is named"
}

// registry reads an OCIRepository that holds one chart.
func (l *loader) registry(source manifest.Object, r *Release) {
	address := strings.TrimSuffix(textAt(source.Object, "spec", "url"), "/")
	slash := strings.LastIndexByte(address, '/')
	if !strings.HasPrefix(address, "oci://") || slash < len("oci://") || holdsVariable(address) {
		l.unknown(r, Source, "", "the address of its OCIRepository %s is not known", source.GetName())
		return
	}
	r.Repository, r.Chart = finding.WithoutUser(address[:slash]), address[slash+1:]
	r.Version = textAt(source.Object, "spec", "ref", "tag")
	if semver := textAt(source.Object, "spec", "ref", "semver"); semver != "" {
		r.Version = semver
	}
	if digest := textAt(source.Object, "spec", "ref", "digest"); digest != "" && l.options.Import {
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
			why, hint := l.lacking(kind, name)
			l.unknown(r, Source, hint, "its HelmRepository %s/%s %s", namespace, name, why)
			return
		}
		address := textAt(source.Object, "spec", "url")
		if address == "" || holdsVariable(address) {
			l.unknown(r, Source, "", "the address of its HelmRepository %s is not known", name)
			return
		}
		if len(mapAt(source.Object, "spec", "secretRef")) > 0 && l.options.Import {
			l.tell(r, Secret, "give Argo CD a repository Secret", "the credentials of the HelmRepository %s are not carried over", name)
		}
		r.Repository, r.Chart, r.Version = finding.WithoutUser(address), chart, version
	case "GitRepository":
		p := l.ownPath(chart)
		if l.isOwn(namespace, name, p) && l.tree.IsDir(p) {
			r.Path = p
			break
		}
		r.Elsewhere = true
		l.unknown(r, Source, "vendor the chart into the repository", "its chart %s is in the GitRepository %s, not in this repository", chart, name)
		return
	default:
		r.Elsewhere = kind == "Bucket"
		l.unknown(r, Source, "vendor the chart into the repository", "its chart %s is in the %s %s", chart, kind, name)
		return
	}
	files := listAt(spec, "valuesFiles")
	if one := textAt(spec, "valuesFile"); one != "" && len(files) == 0 {
		files = []any{one} // older
	}
	for _, file := range files {
		name := fmt.Sprint(file)
		if r.Path != "" {
			name = l.at(".", clean(name)) // those of a chart in Git are named from the top of the repository
		}
		r.ValuesFiles = append(r.ValuesFiles, name)
		if l.options.Import {
			l.tell(r, Values, "write them into a layer of values", "the values of %s in the chart are not carried over", path.Base(fmt.Sprint(file)))
		}
	}
}

// values reads the values of ConfigMaps that the repository holds, then the
// inline ones. Those of Secrets are listed.
func (l *loader) values(o manifest.Object, r *Release) {
	for i, item := range listAt(o.Object, "spec", "valuesFrom") {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if kubeConfig(o) == "" && !flagAt(m, "optional") { // else its component stands in another cluster than what it reads
			r.Sources = append(r.Sources, fluxcd.Source{Kind: textAt(m, "kind"), Name: textAt(m, "name"), Field: fmt.Sprintf("spec.valuesFrom[%d].name", i)})
		}
		l.valuesFrom(m, r)
	}
	inline := mapAt(o.Object, "spec", "values")
	if len(inline) == 0 {
		return
	}
	r.Values = append(r.Values, l.known(inline, "", r))
}

// known takes the values out that hold a variable without a value, for an import.
// Otherwise they stay as they are written.
func (l *loader) known(values map[string]any, at string, r *Release) map[string]any {
	if !l.substitutes(r) {
		return values
	}
	if !l.options.Import {
		r.Unfilled = append(r.Unfilled, unfilled(values)...)
		return values
	}
	out := map[string]any{}
	for k, v := range values {
		p := yamldoc.Join(at, k)
		switch v := v.(type) {
		case map[string]any:
			out[k] = l.known(v, p, r)
			continue
		case string, []any:
			if holdsVariable(v) {
				l.tell(r, Substitution, "write it into the layer of values of each environment", "the value %s is left out: a variable in it is not known", p)
				continue
			}
		}
		out[k] = v
	}
	return out
}

// substitutes reports whether Flux fills in variables of a release of which not all are
// known.
func (l *loader) substitutes(r *Release) bool {
	return r.Kustomization >= 0 && l.current.Kustomizations[r.Kustomization].PostBuild.Open
}

// withoutValues records values that are not known.
func (l *loader) withoutValues(r *Release, kind Kind, hint, what, why string) {
	if why == "" {
		if why := what + " are not known"; !slices.Contains(r.Incomplete, why) {
			r.Incomplete = append(r.Incomplete, why)
		}
	} else {
		r.Incomplete = append(r.Incomplete, what+" are not known: "+why)
		why = ": " + why
	}
	if l.options.Import {
		l.tell(r, kind, hint, "%s are not carried over%s", what, why)
	}
}

// atPath is a value at a dotted path, typed as Helm types what --set gives. ok is false
// for lists and for names with quotes.
func atPath(target, text string) (values map[string]any, ok bool) {
	if strings.ContainsAny(target, `[]{},=\"'`) || strings.Contains("."+target+".", "..") {
		return nil, false
	}
	var value any = text
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		value = n
	} else if text == "true" || text == "false" {
		value = text == "true"
	}
	steps := strings.Split(target, ".")
	for i := len(steps) - 1; i >= 0; i-- {
		value = map[string]any{steps[i]: value}
	}
	values, ok = value.(map[string]any)
	return values, ok
}

func (l *loader) valuesFrom(m map[string]any, r *Release) {
	kind, name, valuesKey, target := textAt(m, "kind"), textAt(m, "name"), textAt(m, "valuesKey"), textAt(m, "targetPath")
	if valuesKey == "" {
		valuesKey = "values.yaml"
	}
	if _, ok := atPath(target, ""); ok && kind == "Secret" && target != "" && !l.options.Import {
		r.Withheld = append(r.Withheld, Withheld{Path: target, Why: "values of the Secret " + name + " are not known"})
		return
	}
	if kind == "Secret" {
		l.withoutValues(r, Secret, "let the chart read the Secret itself", "values of the Secret "+name, "")
		return
	}
	const hint = "write them into a layer of values"
	o, ok := l.sources[key(kind, r.Namespace, name)]
	if !ok || kind != "ConfigMap" {
		if !flagAt(m, "optional") || l.options.Import {
			l.withoutValues(r, Values, hint, "values of the "+kind+" "+name, "it is not in the repository")
		}
		return
	}
	text := textAt(o.Object, "data", valuesKey)
	_, there := mapAt(o.Object, "data")[valuesKey]
	switch {
	case !there && flagAt(m, "optional") && !l.options.Import:
		return // helm-controller goes on without it
	case there && strings.TrimSpace(text) == "":
		return // no values
	case !there:
		l.withoutValues(r, Values, hint, "values of the ConfigMap "+name, "it has no key "+valuesKey)
		return
	case target != "":
		values, ok := atPath(target, strings.TrimSpace(text))
		if !ok {
			l.withoutValues(r, Values, hint, "values of the ConfigMap "+name, "its targetPath "+target+" is not read")
			return
		}
		r.Values = append(r.Values, l.known(values, "", r))
		return
	}
	v, err := yamldoc.ParseOne(name, []byte(text))
	if err != nil {
		l.tell(r, Values, "", "the value %s of the ConfigMap %s is no YAML", valuesKey, name)
		r.Incomplete = append(r.Incomplete, "values of the ConfigMap "+name+" are no YAML")
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
