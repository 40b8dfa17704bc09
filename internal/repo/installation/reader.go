package installation

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Reader gathers what the files of a repository say, one after the other. It is not
// safe for concurrent use.
type Reader struct {
	// Open reads another file of the repository, which a generator names.
	Open func(file string) ([]byte, error)

	found   argo.Settings
	ignored []model.IgnoreDifference
	// written are the ConfigMaps themselves, omitted those that the chart is told not to
	// make: another one takes its place.
	written, omitted map[home]finding.Position
	// patched are the files of patches by the folder of the kustomization that has them,
	// foreign the folders of kustomizations that build on something of an address.
	patched map[string]string
	foreign map[string]bool
	// knownAt are the places of known.
	knownAt []finding.Position
	// read are the files that were read for themselves.
	read map[string]bool
	// stock are the installations by commands.
	stock []stock
	// plugins are the commands of config management plugins, by their names.
	plugins map[string]string
	// releases are those that are not read yet, releasedAt where the others have the
	// settings. partial is set where not all values of each are known, unplaced where not
	// all namespaces of them are.
	releases   []Release
	releasedAt []finding.Position
	partial    bool
	unplaced   bool
	// beside has what the files say that are no manifests.
	beside *Reader
	// wholes counts what makes both ConfigMaps, excluding those of them that have the
	// exclusions of Argo CD 3.
	wholes    int
	excluding []finding.Position
	// healthUnread is set where a file that is not read mentions health scripts.
	healthUnread bool
}

// maxNested is how deep texts that hold YAML may be nested in each other.
const maxNested = 3

// Read takes the documents of one file.
func (r *Reader) Read(values []*yamldoc.Value) {
	if r.read == nil {
		r.read = map[string]bool{}
	}
	for _, v := range values {
		r.read[v.Position.File] = true
		r.value(v, anywhere, 0)
	}
}

// Unread takes a file that cannot be read as settings: what it has to do with is not
// known to be absent.
func (r *Reader) Unread(file string, text []byte) {
	note := func(to *string, signs ...string) {
		mentioned := slices.ContainsFunc(signs, func(sign string) bool { return bytes.Contains(text, []byte(sign)) })
		if mentioned && (*to == "" || file < *to) {
			*to = file
		}
	}
	note(&r.found.ProgressiveSyncs.Unread, "progressive.syncs", `progressive\`, "progressive-syncs", "PROGRESSIVE_SYNCS", "progressiveSyncs", "ProgressiveSyncs")
	note(&r.found.WatchedUnread, "application.namespaces", `application\.namespaces`, "application-namespaces", watchedVariable, "sourceNamespaces", "applicationNamespaces")
	note(&r.found.BuildUnread, "buildOptions", "BuildOptions", pathPrefix, versionPrefix)
	var timeout, of string
	note(&timeout, "controller.sync.timeout", `sync\.timeout`, syncTimeoutVariable, syncTimeoutFlag)
	r.found.SyncTimeout.Unread = r.found.SyncTimeout.Unread || timeout != ""
	note(&of, customizations, `resource\.customizations`, `resource\\.customizations`, "resourceHealthChecks", "resourceCustomizations")
	r.healthUnread = r.healthUnread || of != ""
}

func sortedKinds(all []argo.GroupKind) []argo.GroupKind {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b argo.GroupKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(all)
}

// Settings are those that were read so far.
func (r *Reader) Settings() argo.Settings {
	r.settle()
	s := r.replaced()
	// Which of several installations an Application belongs to is not told: the settings
	// of each must be known.
	if len(r.knownAt) > 0 && !slices.ContainsFunc(r.knownAt, r.isPatchOfForeign) {
		s.Known, s.Position = true, slices.MinFunc(r.knownAt, finding.Position.Compare)
	}
	if len(r.knownAt) == 0 && len(r.releasedAt) > 0 && !r.partial && !r.healthUnread {
		s.Known, s.Position = true, slices.MinFunc(r.releasedAt, finding.Position.Compare)
	}
	s.Health, s.Waived = sortedKinds(s.Health), sortedKinds(s.Waived)
	s.Global = slices.Compact(slices.Sorted(slices.Values(s.Global)))
	s.Namespaces = slices.Compact(slices.Sorted(slices.Values(s.Namespaces)))
	s.Watched = slices.Compact(slices.Sorted(slices.Values(s.Watched)))
	s.Versions = slices.Compact(slices.Sorted(slices.Values(s.Versions)))
	s.Build, s.Exclusions, s.Inclusions, s.Stray = slices.Clone(s.Build), slices.Clone(s.Exclusions), slices.Clone(s.Inclusions), slices.Clone(s.Stray)
	if len(r.excluding) > 0 && len(r.excluding) == r.wholes && len(s.Exclusions)+len(s.Inclusions)+len(r.releasedAt) == 0 && !r.healthUnread {
		s.Exclusions = []argo.Filters{defaultExclusions(slices.MinFunc(r.excluding, finding.Position.Compare))}
	}
	slices.SortStableFunc(s.Build, func(a, b argo.BuildOptions) int { return a.Position.Compare(b.Position) })
	s.Written = slices.Clone(s.Written)
	slices.SortStableFunc(s.Written, func(a, b argo.Written) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), a.Position.Compare(b.Position))
	})
	slices.SortStableFunc(s.Stray, func(a, b argo.Stray) int { return a.Position.Compare(b.Position) })
	return s
}

// replaced are the settings with what takes the place of the ConfigMaps that the chart
// does not make: those of the repository, or some that are not read.
func (r *Reader) replaced() argo.Settings {
	of := Reader{found: r.found}
	for h, at := range r.omitted {
		instead, here := r.written[h]
		switch {
		case !here:
			of.Unread(at.File, []byte(map[home]string{settings: buildKey, parameters: progressiveKey + watchedKey}[h]))
		case h == settings:
			of.found.Whole = instead
		}
	}
	return of.found
}

// first notes a position, where it is the first one of its ConfigMap.
func first(of *map[home]finding.Position, h home, at finding.Position) {
	if *of == nil {
		*of = map[home]finding.Position{}
	}
	if have, ok := (*of)[h]; !ok || at.Compare(have) < 0 {
		(*of)[h] = at
	}
}

// Ignored are the differences that the installation ignores in all Applications.
func (r *Reader) Ignored() []model.IgnoreDifference { return r.ignored }

// known notes where the settings are: the first place by the order of files.
func (r *Reader) known(at finding.Position) {
	r.knownAt = append(r.knownAt, at)
}

// isPatchOfForeign reports whether a place is in a patch of what an address has: the rest
// of the settings is there.
func (r *Reader) isPatchOfForeign(at finding.Position) bool {
	dir, ok := r.patched[at.File]
	return ok && r.foreign[dir]
}

// whole notes what makes both ConfigMaps, and whether with the exclusions of Argo CD 3.
func (r *Reader) whole(at finding.Position, excludes bool) {
	r.wholes++
	if excludes {
		r.excluding = append(r.excluding, at)
	}
	r.known(at)
	r.started(at)
	if r.found.Whole.File == "" || at.Compare(r.found.Whole) < 0 {
		r.found.Whole = at
	}
}

// started notes where it is told how the processes are started.
func (r *Reader) started(at finding.Position) {
	if r.found.Started.File == "" || at.Compare(r.found.Started) < 0 {
		r.found.Started = at
	}
}

// stands notes that one of the two ConfigMaps is here.
func (r *Reader) stands(in home, at finding.Position) {
	switch in {
	case settings:
		r.known(at)
	case parameters:
		r.started(at)
	case anywhere, policies, nowhere, mapped:
	}
}

func (r *Reader) value(v *yamldoc.Value, in home, nested int) {
	switch v.Kind {
	case yamldoc.Map:
		r.object(v, in, nested)
	case yamldoc.List:
		for i, item := range v.Items {
			if item.Text == syncTimeoutFlag && i+1 < len(v.Items) {
				r.endsSyncs(v.Items[i+1].Text, item.Position)
			}
			r.value(item, in, nested)
		}
	case yamldoc.Scalar:
		r.arguments(v)
		if r.found.BuildUnread == "" && strings.Contains(v.Text, "kustomize build") {
			r.found.BuildUnread = v.Position.File // a plugin builds with options of its own
		}
		if nested < maxNested && strings.Contains(v.Text, "\n") && Mentions([]byte(v.Text)) {
			r.text(v, in, nested)
		}
	case yamldoc.Null:
	}
}

// text reads YAML in a text.
func (r *Reader) text(v *yamldoc.Value, in home, nested int) {
	documents, err := yamldoc.Parse(v.Position.File, []byte(v.Text))
	if err != nil {
		return
	}
	for _, d := range documents {
		r.value(d.Located(v.Position), in, nested+1)
	}
}

// object reads a map: the ConfigMap or resource itself, a use of the chart, a patch, a
// variable, or anything that holds such.
func (r *Reader) object(v *yamldoc.Value, in home, nested int) {
	kind := v.TextAt("kind")
	if h := homeOf(v.TextAt("metadata", "name")); kind == "ConfigMap" && h != anywhere {
		in = h
		r.stands(in, v.Position)
		first(&r.written, h, v.Position)
		r.installedIn(v.TextAt("metadata", "namespace"))
	}
	if v.TextAt("chart") == chartName || v.TextAt("name") == chartName && (v.At("repository") != nil || v.At("repo") != nil) {
		r.chart(v)
		r.installedIn(v.TextAt("namespace")) // of an entry of helmCharts
	}
	if kind == operatorKind && strings.HasPrefix(v.TextAt("apiVersion"), argoGroup) {
		r.operator(v)
		in = nowhere // but for the two fields of its spec that are ConfigMaps
	}
	if kind == "ConfigManagementPlugin" && strings.HasPrefix(v.TextAt("apiVersion"), argoGroup) {
		r.plugin(v)
	}
	if kind == "Application" && v.At("spec") != nil && isChart(v.At("spec")) {
		r.installedIn(v.TextAt("spec", "destination", "namespace"))
	}
	if v.At("configMapGenerator") != nil || v.At("resources") != nil || v.At("helmCharts") != nil {
		r.installedIn(v.TextAt("namespace")) // of a kustomization
	}
	r.ansible(v)
	r.variable(v)
	r.operation(v, in)
	r.parameter(v)
	for _, e := range v.Entries {
		r.entry(v, e, in, nested)
	}
}

// isChart reports whether a source of an Application is the chart argo-cd.
func isChart(spec *yamldoc.Value) bool {
	return spec.TextAt("source", "chart") == chartName ||
		slices.ContainsFunc(spec.At("sources").Elements(), func(s *yamldoc.Value) bool { return s.TextAt("chart") == chartName })
}

// installedIn notes a namespace that Argo CD may be installed in.
func (r *Reader) installedIn(namespace string) {
	if namespace != "" {
		r.found.Namespaces = append(r.found.Namespaces, namespace)
	}
}

// chart takes a use of the chart argo-cd, whose values may say nothing: then it makes
// both ConfigMaps as they are. Values of another repository may say anything.
func (r *Reader) chart(v *yamldoc.Value) {
	files := slices.Concat(v.At("helm", "valueFiles").Elements(), v.At("values").Elements())
	if slices.ContainsFunc(files, func(f *yamldoc.Value) bool { return strings.HasPrefix(f.Text, "$") || strings.Contains(f.Text, "://") }) {
		r.known(v.Position)
		r.wholes++
		return
	}
	r.whole(v.Position, chartExcludes(cmp.Or(v.TextAt("targetRevision"), v.TextAt("version"))))
}

func (r *Reader) entry(of *yamldoc.Value, e yamldoc.Entry, in home, nested int) {
	// The chart writes the names of settings as they are: quotes within them are of YAML.
	if r.key(strings.Trim(e.Key, `"`), e.Value, e.Position, in) {
		return
	}
	switch {
	case e.Key == "configs" && e.Value.Kind == yamldoc.Map && in != nowhere:
		r.section(e.Value, map[string]home{"cm": settings, "params": parameters}, in, nested)
	case e.Key == "server" && e.Value.Kind == yamldoc.Map && in != nowhere:
		r.section(e.Value, map[string]home{"config": settings}, in, nested)
	case e.Key == "extraConfig":
		r.value(e.Value, settings, nested)
	case e.Key == "cmdParams":
		r.value(e.Value, parameters, nested)
	case e.Key == "configMapGenerator":
		for _, item := range e.Value.Items {
			r.generator(item)
		}
	case e.Key == "helmCharts" && of.TextAt("namespace") != "":
		for _, item := range e.Value.Items { // the namespace of the kustomization wins
			chart := *item
			chart.Entries = slices.DeleteFunc(slices.Clone(item.Entries), func(e yamldoc.Entry) bool { return e.Key == "namespace" })
			r.value(&chart, in, nested)
		}
	case e.Key == "patchesStrategicMerge" || e.Key == "patches":
		r.patches(e.Value)
		r.value(e.Value, in, nested)
	case e.Key == "patch" && homeOf(of.TextAt("target", "name")) != anywhere:
		h := homeOf(of.TextAt("target", "name"))
		r.stands(h, e.Position)
		r.text(e.Value, h, nested)
	case e.Key == "resources":
		r.remote(e.Value)
		r.value(e.Value, in, nested)
	default:
		r.value(e.Value, in, nested)
	}
}

// section reads values of the chart argo-cd, which have the ConfigMaps under keys of
// theirs.
func (r *Reader) section(v *yamldoc.Value, homes map[string]home, in home, nested int) {
	for _, e := range v.Entries {
		h, ok := homes[e.Key]
		if !ok || e.Value.Kind != yamldoc.Map {
			r.value(e.Value, in, nested)
			continue
		}
		if e.Value.TextAt("create") == "false" {
			first(&r.omitted, h, e.Position)
		}
		if slices.ContainsFunc(e.Value.Entries, func(o yamldoc.Entry) bool {
			return h == settings && isSetting(o.Key) || h == parameters && isParameter(o.Key)
		}) {
			r.stands(h, e.Value.Position)
			if h == settings && r.found.Whole.File == "" {
				r.found.Whole = e.Value.Position
			}
		}
		plain := *e.Value
		plain.Entries = nil
		for _, inner := range e.Value.Entries {
			if inner.Value.Kind == yamldoc.Map {
				r.value(inner.Value, mapped, nested) // Source: argo-helm, argo-cd, argo-cd.config.cm
			} else {
				plain.Entries = append(plain.Entries, inner)
			}
		}
		r.value(&plain, h, nested)
	}
}

// remote finds Argo CD's own manifests among the resources of a kustomization: they
// have both ConfigMaps as they are. What else is of an address may have them in any way.
func (r *Reader) remote(list *yamldoc.Value) {
	for _, item := range list.Items {
		switch {
		case isManifests(item.Text):
			r.whole(item.Position, excludes(item.Text))
		case strings.Contains(item.Text, "://") || strings.HasPrefix(item.Text, "git@") || strings.HasPrefix(item.Text, "github.com"):
			if r.foreign == nil {
				r.foreign = map[string]bool{}
			}
			r.foreign[path.Dir(item.Position.File)] = true
		}
	}
}

// isManifests reports whether an address is one of Argo CD's own manifests.
func isManifests(address string) bool {
	return strings.Contains(address, "argoproj/argo-cd") && strings.Contains(address, "manifests")
}

// Applied takes an address that a command applies: Argo CD's own manifests have both ConfigMaps as they
// are, unless something here has more of them.
func (r *Reader) Applied(address string, at finding.Position) {
	if isManifests(address) && !strings.Contains(address, "crd") {
		r.stock = append(r.stock, stock{at, excludes(address)})
	}
}

// stock is where a command applies Argo CD's own manifests, and whether with the exclusions of version 3.
type stock struct {
	at       finding.Position
	excludes bool
}

// patches notes the files that a kustomization patches with, and itself, which may have
// patches in it.
func (r *Reader) patches(list *yamldoc.Value) {
	for _, item := range list.Items {
		if r.patched == nil {
			r.patched = map[string]string{}
		}
		dir := path.Dir(item.Position.File)
		r.patched[item.Position.File] = dir
		for _, file := range []string{item.Text, item.TextAt("path")} {
			if file != "" && !strings.Contains(file, "\n") {
				r.patched[path.Join(dir, file)] = dir
			}
		}
	}
}

// generator reads an entry of configMapGenerator.
func (r *Reader) generator(item *yamldoc.Value) {
	h := homeOf(item.TextAt("name"))
	if h == anywhere {
		return
	}
	r.stands(h, item.Position)
	pair := func(text string, at finding.Position) {
		if key, value, ok := strings.Cut(text, "="); ok {
			r.key(key, yamldoc.Text(strings.Trim(value, `"'`), at), at, h)
		}
	}
	for _, literal := range item.At("literals").Elements() {
		pair(literal.Text, literal.Position)
	}
	dir := path.Dir(item.Position.File)
	for _, file := range item.At("files").Elements() {
		key, name, named := strings.Cut(file.Text, "=")
		if !named {
			key, name = path.Base(file.Text), file.Text
		}
		if data, err := r.Open(path.Join(dir, name)); err == nil {
			r.key(key, yamldoc.Text(string(data), file.Position), file.Position, h)
		}
	}
	envs := item.At("envs").Elements()
	if env := item.At("env"); env != nil {
		envs = append(slices.Clone(envs), env)
	}
	for _, file := range envs {
		data, err := r.Open(path.Join(dir, file.Text))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			pair(strings.TrimSpace(line), file.Position)
		}
	}
}
