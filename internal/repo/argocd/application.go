package argocd

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// waveAnnotation orders resources under the Application that applies them.
const waveAnnotation = "argocd.argoproj.io/sync-wave"

// Annotations of an Application that say what a descriptor would.
const (
	annotationPrefix    = "ladder.rollout-ladder.dev/"
	annotationType      = annotationPrefix + "component-type"
	annotationRequires  = annotationPrefix + "requires"
	annotationValidates = annotationPrefix + "validates"
	annotationTimeout   = annotationPrefix + "timeout"
	annotationEnabled   = annotationPrefix + "enabled"
)

// wave reads the sync wave of a document; none is 0.
func (r *Repository) wave(d document) int {
	v := d.value.At("metadata", "annotations", waveAnnotation)
	if v == nil || v.Kind == yamldoc.Null {
		return 0
	}
	at := d.at("metadata", "annotations", waveAnnotation)
	n, err := strconv.Atoi(v.Text)
	switch {
	case v.Kind != yamldoc.Scalar || err != nil:
		f := newFinding(RuleWave, finding.Error, at, d.name(), "the sync wave %q is not a number; Argo CD takes it for 0", v.Text)
		f.Fix.Summary = "write a whole number in quotes, without blanks"
		r.findings = append(r.findings, f)
		return 0
	case !v.IsString():
		f := newFinding(RuleWave, finding.Error, at, d.name(), "the sync wave %d is a number, not text; the API server refuses the annotation", n)
		f.Fix.Summary = fmt.Sprintf("quote it: %q", v.Text)
		r.findings = append(r.findings, f)
	}
	return n
}

// templateWave tells of a sync wave in the template of an ApplicationSet that is
// a number: the API server refuses the set.
func (r *Repository) templateWave(set document) {
	v := set.value.At("spec", "template", "metadata", "annotations", waveAnnotation)
	if v == nil || v.Kind != yamldoc.Scalar || v.IsString() {
		return
	}
	f := newFinding(RuleWave, finding.Error, set.at("spec", "template", "metadata", "annotations", waveAnnotation), set.name(),
		"the sync wave %s is not text; the API server refuses the annotation", v.Text)
	f.Fix.Summary = fmt.Sprintf("quote it: %q", v.Text)
	r.findings = append(r.findings, f)
}

// wordOf matches what nothing fills in any more; of capitals alone somebody does.
var wordOf = lazyregexp.New(`^[A-Za-z0-9._-]*[a-z][A-Za-z0-9._-]*$`)

// completes reports whether something else than its template makes the Applications of a set
// complete: a patch, or templates of its generators.
func completes(set document) bool {
	return set.value.At("spec", "templatePatch") != nil || hasTemplate(set.value.At("spec", "generators"), 0)
}

func hasTemplate(generators *yamldoc.Value, depth int) bool {
	return depth <= deepest && slices.ContainsFunc(generators.Elements(), func(g *yamldoc.Value) bool {
		for _, e := range g.Entries {
			if e.Value.At("template") != nil || hasTemplate(e.Value.At("generators"), depth+1) {
				return true
			}
		}
		return false
	})
}

// component turns an Application into a component.
func (r *Repository) component(d document, environment string, waves []int) model.Component {
	var problems yamldoc.Problems
	c := model.Component{
		Name: d.name(), Environment: environment, Phase: model.NoPhase, Object: true,
		Project: d.value.TextAt("spec", "project"), Namespace: d.value.TextAt("spec", "destination", "namespace"), Cluster: r.clusterOf(d),
		Waves: waves, Type: model.Runtime, Enabled: true,
		Position: d.position(), Fields: map[string]finding.Position{},
	}
	d.written.Walk(func(field string, at finding.Position) { c.Fields[field] = at })
	c.Fields["name"] = d.at("metadata", "name")
	c.Fields["namespace"] = d.at("spec", "destination", "namespace")
	c.Fields["project"] = d.at("spec", "project")
	if d.written.At("spec", "syncPolicy", "syncOptions") != nil {
		c.Fields["syncOptions"] = d.at("spec", "syncPolicy", "syncOptions")
	}
	if c.Project == "" {
		c.Project = "default"
	}
	if spec := d.value.At("spec"); spec != nil && spec.Kind == yamldoc.Map {
		f := yamldoc.Read(spec, "spec", &problems)
		c.SyncOptions = f.Map("syncPolicy").Strings("syncOptions")
		takePolicy(&c, f)
	}
	if metadata := d.value.At("metadata"); metadata != nil && metadata.Kind == yamldoc.Map {
		f := yamldoc.Read(metadata, "metadata", &problems)
		c.Labels = f.TextMap("labels")
		r.annotations(&c, d, f.Map("annotations"))
	}
	if d.generated == nil {
		r.complete(d, d.value.At("spec"), "spec")
	}
	c.Sources = r.sources(d, &problems)
	withoutNamespace(&c, d)
	for _, p := range problems.List {
		if d.generated != nil && p.Field == "spec.syncPolicy.syncOptions" && len(noList(d.generated.set)) > 0 {
			continue // it is told of the template
		}
		at := p.Position
		if !slices.ContainsFunc(mapValues(c.Fields), func(known finding.Position) bool { return known == at }) {
			at = c.Position
		}
		r.findings = append(r.findings, newFinding(RuleInvalid, finding.Error, at, c.Name, "%s", p.Message))
	}
	return c
}

// takePolicy gives a component what the spec of its Application says of syncs, aside from sync
// options: what it does not say stays.
func takePolicy(c *model.Component, spec *yamldoc.Fields) {
	if ignored := descriptor.IgnoreDifferences(spec.Maps("ignoreDifferences")); len(ignored) > 0 {
		c.IgnoreDifferences = ignored
	}
	policy := spec.Map("syncPolicy")
	namespace := policy.Map("managedNamespaceMetadata")
	c.NamespaceLabels, c.NamespaceAnnotations = namespace.TextMap("labels"), namespace.TextMap("annotations")
	if retry := policy.Map("retry"); retry != nil {
		c.Retry = descriptor.Retry(retry)
		if c.Retry.Limit == nil {
			c.Retry.Limit = new(int) // Argo CD tries five times only where nothing is said of it
		}
	}
}

// withoutNamespace takes from a component a namespace that is made of parameters which are
// not known: its objects are in none that could be told, and so they are not rendered.
func withoutNamespace(c *model.Component, d document) {
	if d.generated == nil || d.generated.namespace == "" {
		return
	}
	c.Namespace = ""
	c.SyncOptions = slices.DeleteFunc(c.SyncOptions, func(option string) bool { return strings.HasPrefix(option, "CreateNamespace") })
	for i := range c.Sources {
		c.Sources[i].Refused = cmp.Or(c.Sources[i].Refused, fmt.Sprintf("its namespace is %s, which needs parameters of the ApplicationSet %s that are not in the repository", d.generated.namespace, d.generated.set.name()))
	}
}

func mapValues(m map[string]finding.Position) []finding.Position {
	values := make([]finding.Position, 0, len(m))
	for _, v := range m {
		values = append(values, v)
	}
	return values
}

// annotations reads what the annotations of Ladder say.
func (r *Repository) annotations(c *model.Component, d document, f *yamldoc.Fields) {
	if f == nil {
		return
	}
	list := func(key string) []model.Requirement {
		var all []model.Requirement
		for part := range strings.SplitSeq(f.Text(key), ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, model.Requirement{Text: part, Position: d.at("metadata", "annotations", key)})
			}
		}
		return all
	}
	c.Requires, c.Validates = list(annotationRequires), list(annotationValidates)
	c.Timeout = f.Duration(annotationTimeout)
	c.Enabled = f.Bool(annotationEnabled, true)
	if t := model.Type(f.Text(annotationType)); t != "" {
		if slices.Contains(model.Types(), t) {
			c.Type = t
		} else {
			f.Wrong(annotationType, "", "component type %q is not known", t)
		}
	}
}

// sources turns the sources of an Application into those of a component.
func (r *Repository) sources(d document, problems *yamldoc.Problems) []model.Source {
	written := d.sources()
	refs := map[string]source{}
	for _, s := range written {
		if ref := s.value.TextAt("ref"); ref != "" {
			refs[ref] = s
		}
	}
	var all []model.Source
	for _, s := range written {
		if s.path() == "" && s.value.TextAt("chart") == "" {
			if s.value.TextAt("ref") == "" {
				r.findings = append(r.findings, newFinding(RuleInvalid, finding.Error, s.position, d.name(), "a source has neither path nor chart"))
			}
			continue
		}
		all = append(all, r.source(d, s, refs, problems))
	}
	if len(written) == 0 {
		r.findings = append(r.findings, newFinding(RuleInvalid, finding.Error, d.at("spec"), d.name(), "the Application has no source"))
	}
	return all
}

func (r *Repository) source(d document, s source, refs map[string]source, problems *yamldoc.Problems) model.Source {
	to := model.Source{Kind: model.Manifests, Position: s.position}
	dir, local := r.local(s)
	if local {
		s, to.Refused = r.overridden(d, s, dir)
	}
	if kinds := kindsAsked(s.value); len(kinds) > 1 {
		to.Refused = "Argo CD renders nothing of a source that has " + strings.Join(kinds, " and ") + "; leave one of them"
		r.findings = append(r.findings, newFinding(RuleInvalid, finding.Error, s.at(kinds[1]), d.name(), "%s", to.Refused))
	}
	switch {
	case s.value.TextAt("chart") != "":
		to.Kind = model.Chart
		to.RepoURL, to.Name, to.Version = s.repoURL(), s.value.TextAt("chart"), s.value.TextAt("targetRevision")
		if strings.HasPrefix(to.RepoURL, "oci://") {
			to.RepoURL = strings.TrimSuffix(to.RepoURL, "/"+to.Name) // Argo CD takes the address for the whole of it
		}
	case isOCIChart(s):
		to.Kind = model.Chart
		i := strings.LastIndex(s.repoURL(), "/")
		to.RepoURL, to.Name, to.Version = s.repoURL()[:i], s.repoURL()[i+1:], s.value.TextAt("targetRevision")
	case !local:
		to.Kind = model.Git
		r.elsewhere(&to, d, s, refs, problems)
	case r.isKustomizePlugin(s, dir):
		to.Kind, to.Path = model.Kustomize, dir
		r.assumed(s.at("plugin"), d.name(), "the plugin %s is taken for kustomize build", s.value.TextAt("plugin", "name"))
	case s.value.At("plugin") != nil:
		to.Kind, to.Path = r.pluginKind(s, dir), dir
		if to.Kind != model.Plugin {
			to.Incomplete = fmt.Sprintf("what the plugin %s fills in is not known", s.value.TextAt("plugin", "name"))
			r.pluginValues(&to, d, s, refs)
		} else {
			to.Refused = pluginRefused(s)
		}
	default:
		to.Path = dir
		to.Kind = r.kind(s, dir)
	}
	switch to.Kind {
	case model.Chart:
		to.ReleaseName = d.name()
		if to.Path != "" {
			to.Dependencies = r.besideCharts(dir)
			r.tellBeside(d, dir, to.Dependencies)
		}
		if helm := s.value.At("helm"); helm != nil && helm.Kind == yamldoc.Map {
			r.helm(&to, d, s, refs, yamldoc.Read(helm, "helm", problems))
		}
	case model.Kustomize:
		to.Kustomize = r.kustomizeOptions(d, s, dir, problems)
	case model.Manifests:
		r.directory(&to, d, s)
	case model.Git, model.Plugin: // rendered nowhere
	}
	here := local && (r.tree.IsDir(dir) || r.tree.IsFile(dir))
	if found := placeholders(to); len(found) > 0 && !here {
		to.Refused = waits + strings.Join(found, " and ")
	}
	switch revision := s.value.TextAt("targetRevision"); {
	case !local || to.Refused != "":
	case here && !r.isCheckedOut(revision):
		to.Revision = revision
	case !here && !isHead(revision):
		to.Refused = fmt.Sprintf("%s is not in this checkout: the Application takes it from the revision %s", dir, revision)
	}
	if s.lacks != "" {
		to.Incomplete = s.lacks + " of the source needs parameters of the ApplicationSet " + d.generated.set.name() + " that are not in the repository"
	}
	return to
}

// isOCI reports whether a source is an artifact of a registry. Source: argo-cd,
// ApplicationSource.IsOCI.
func isOCI(s source) bool {
	return s.value.TextAt("chart") == "" && strings.HasPrefix(s.repoURL(), "oci://")
}

// isOCIChart reports whether an artifact of a registry is a chart: the source takes all of it, and
// sets something of a chart, or nothing of what else it may be and its address says so.
func isOCIChart(s source) bool {
	if !isOCI(s) || !isRootPath(s.path()) || s.path() == "" || strings.Count(s.repoURL(), "/") <= 2 {
		return false
	}
	if helm := s.value.At("helm"); helm != nil && len(helm.Entries) > 0 {
		return true
	}
	other := func(section string) bool { return s.value.At(section) != nil }
	return !slices.ContainsFunc([]string{"kustomize", "directory", "plugin"}, other) && ofChart.MatchString(s.repoURL())
}

// ofChart matches an address of a registry with a word for charts.
var ofChart = lazyregexp.New(`(?i)[/_-](?:helm|charts?)(?:[/_-]|$)`)

// kind is what Argo CD builds a folder as.
func (r *Repository) kind(s source, dir string) model.SourceKind {
	if kind := r.kindBySpec(s); kind != model.Manifests || isExplicit(s.value.At("directory")) {
		return kind
	}
	return r.kindByFiles(dir)
}

// kindByFiles is the kind of a source whose folder tells it.
func (r *Repository) kindByFiles(dir string) model.SourceKind {
	names, err := r.tree.List(dir)
	if err != nil {
		return model.Manifests // who renders it tells
	}
	return model.KindOf(names, func(name string) bool { return r.tree.IsFile(path.Join(dir, name)) })
}

// directory reads the directory section of a source.
func (r *Repository) directory(to *model.Source, d document, s source) {
	directory := s.value.At("directory")
	to.Recurse = boolAt(directory, "recurse")
	to.Include, to.Exclude = directory.TextAt("include"), directory.TextAt("exclude")
	to.Jsonnet = r.jsonnet(d, s)
	for _, key := range []string{"include", "exclude"} {
		if lines := strings.Fields(directory.TextAt(key)); len(lines) > 1 && strings.Contains(directory.TextAt(key), "\n") {
			f := newFinding(RuleInvalid, finding.Warning, s.at("directory", key), d.name(), "%s of the directory has %d lines, but is one pattern, which no file matches", key, len(lines))
			f.Fix.Summary = fmt.Sprintf("write one pattern: %q", "{"+strings.Join(lines, ",")+"}")
			r.findings = append(r.findings, f)
		}
	}
	var kustomizations []finding.Position
	for _, file := range r.under(to.Path) {
		rel, ok := below(to.Path, file)
		if !ok || !to.Recurse && strings.Contains(rel, "/") || !taken(to.Include, to.Exclude, rel) {
			continue
		}
		if at, ok := r.appliedKustomization(file); ok {
			kustomizations = append(kustomizations, at)
		}
	}
	if len(kustomizations) > 0 {
		r.findings = append(r.findings, kustomizationApplied(d.name(), kustomizations, s.at("directory")))
	}
}

// appliedKustomization finds a kustomization that a directory source takes for an
// object of a cluster. Source: argo-cd, reposerver/repository, findManifests, which
// passes over files without a kind, and those with a marker.
func (r *Repository) appliedKustomization(file string) (finding.Position, bool) {
	if name := path.Base(file); name != "kustomization.yaml" && name != "kustomization.yml" {
		return finding.Position{}, false
	}
	data, err := r.tree.Read(file)
	if err != nil || bytes.Contains(data, []byte("+argocd:skip-file-rendering")) {
		return finding.Position{}, false
	}
	v, err := yamldoc.ParseKustomization(file, data)
	if err != nil || v.TextAt("kind") == "" || !strings.HasPrefix(v.TextAt("apiVersion"), "kustomize.config.k8s.io/") {
		return finding.Position{}, false
	}
	return v.Position, true
}

// kustomizationApplied says that Argo CD applies a kustomization as it is.
func kustomizationApplied(name string, at []finding.Position, directory finding.Position) finding.Finding {
	f := newFinding(RuleUnprovided, finding.Error, at[0], name,
		"the source of %s is plain YAML, so that Argo CD applies the kustomization itself, and no cluster serves its kind: the sync fails", name)
	f.Resource = finding.Resource{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "kustomizations.kustomize.config.k8s.io"}
	f.Evidence = append(f.Evidence, finding.Evidence{Text: "the directory section makes the source plain YAML", File: directory.File, Line: directory.Line})
	for _, other := range at[1:min(len(at), 4)] {
		f.Evidence = append(f.Evidence, finding.Evidence{Text: "another one", File: other.File, Line: other.Line})
	}
	f.Fix.Summary = "exclude it (directory.exclude: '*kustomization.yaml'), or drop the directory section so that the folder is built by kustomize"
	return f
}

// kustomizeOptions reads the kustomize section of a source; nil where it sets
// nothing. Source: Argo CD, ApplicationSourceKustomize.
func (r *Repository) kustomizeOptions(d document, s source, dir string, problems *yamldoc.Problems) *model.KustomizeOptions {
	section := s.value.At("kustomize")
	if section == nil || section.Kind != yamldoc.Map || len(section.Entries) == 0 {
		return nil
	}
	f := yamldoc.Read(section, "kustomize", problems)
	o := &model.KustomizeOptions{
		NamePrefix: f.Text("namePrefix"), NameSuffix: f.Text("nameSuffix"), Namespace: f.Text("namespace"),
		Images: f.Strings("images"), CommonLabels: f.TextMap("commonLabels"), CommonAnnotations: f.TextMap("commonAnnotations"),
		LabelWithoutSelector: f.Bool("labelWithoutSelector", false), LabelIncludeTemplates: f.Bool("labelIncludeTemplates", false),
	}
	for i := range o.Images {
		o.Images[i] = withVariables(o.Images[i], d, s)
	}
	o.CommonLabels = allWithVariables(o.CommonLabels, d, s)
	if f.Bool("commonAnnotationsEnvsubst", false) {
		o.CommonAnnotations = allWithVariables(o.CommonAnnotations, d, s)
	}
	for _, m := range f.Maps("replicas") {
		if count, ok := m.Int("count"); ok {
			if o.Replicas == nil {
				o.Replicas = map[string]int{}
			}
			o.Replicas[m.Text("name")] = count
		}
	}
	for _, m := range f.Maps("patches") {
		o.Patches = append(o.Patches, m.Value.Any())
	}
	ignore := f.Bool("ignoreMissingComponents", false)
	for _, c := range f.Strings("components") {
		if ignore && !r.tree.IsDir(path.Join(dir, c)) {
			continue
		}
		o.Components = append(o.Components, c)
	}
	if v := section.At("version"); v != nil && v.Kind == yamldoc.Scalar && v.Text != "" {
		r.assumed(s.at("kustomize", "version"), d.name(), "the kustomization is built with another version than %s", v.Text)
	}
	return o
}

// kustomizePlugin matches the names of config management plugins that only run
// kustomize, with charts switched on.
var kustomizePlugin = lazyregexp.New(`^kustomized?(-build)?(-with)?(-enable)?-helm$`)

func (r *Repository) isKustomizePlugin(s source, dir string) bool {
	return kustomizePlugin.MatchString(s.value.TextAt("plugin", "name")) && r.isKustomization(dir)
}

// kindBySpec is the kind that the fields of a source ask for.
func (r *Repository) kindBySpec(s source) model.SourceKind {
	switch {
	case says(s.value, "helm"):
		return model.Chart
	case says(s.value, "kustomize"):
		return model.Kustomize
	default:
		return model.Manifests
	}
}
