package generate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/project"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// applications makes the Application of every component, as the layout wants it.
func (b *builder) applications() error {
	if err := errors.Join(b.misnamed(), b.names()); err != nil {
		return err
	}
	var problems []error
	for _, name := range b.sorted() {
		app, err := b.application(b.components[name])
		problems = append(problems, err)
		b.apps[name] = app
	}
	return errors.Join(problems...)
}

// sorted are the names of the components in the order of the stages.
func (b *builder) sorted() []string {
	var names []string
	for _, s := range b.stages {
		names = append(names, s.components...)
	}
	return names
}

// names refuses components that have the name of an Application which applies
// others, or its project: they would lie beside each other in one namespace.
func (b *builder) names() error {
	taken := []string{b.rootName()}
	if b.layout == plan.Tiers {
		for _, set := range b.sets() {
			taken = append(taken, b.setName(set))
		}
	}
	var problems []error
	for _, name := range taken {
		if c := b.components[name]; c != nil {
			problems = append(problems, b.refuse(c.At("name"), "give the component another name", "the component %s has the name of the Application that applies it", name))
		}
	}
	var sharing []string
	for _, name := range b.sorted() {
		c := b.components[name]
		if of := b.project(c); !descriptor.IsName(of) {
			problems = append(problems, b.refuse(c.At("project"), "use lower-case letters, digits, '-' and '.', at most 253 of them", "the component %s has the project %q, which is not a name that an AppProject can have", name, of))
		}
		if b.project(c) == b.rootProjectName() {
			sharing = append(sharing, name)
		}
	}
	if len(sharing) > 0 {
		problems = append(problems, b.sharesRootProject(sharing))
	}
	return errors.Join(problems...)
}

// sharesRootProject refuses components in the AppProject of the Applications that apply
// them: those need little, and would have the rights of all of these. It is one mistake,
// of whoever named the project.
func (b *builder) sharesRootProject(names []string) error {
	root := b.rootProjectName()
	if b.platform.ArgoCD.Names.RootProject != "" {
		return b.refuse(b.platform.ArgoCD.At("names.rootProject"), "give it a name that no component has as its project",
			"argocd.names.rootProject is %s, which is the AppProject of %s", root, some(names))
	}
	of := "the component " + names[0] + " has"
	if len(names) > 1 {
		of = some(names) + " have"
	}
	return b.refuse(b.components[names[0]].At("project"), "give them another project, or the other one a name in argocd.names.rootProject",
		"%s the AppProject %s, which is that of the Applications that apply them", of, root)
}

// application makes the Application of a component.
func (b *builder) application(c *model.Component) (Application, error) {
	if c.AppOfApps {
		return Application{}, b.refuse(c.Position, "move them into a folder of their own, with an Application for it",
			"%s applies objects beside its Applications, which would be applied twice", c.Name)
	}
	s := b.stages[b.stageOf[c.Name]]
	app := Application{APIVersion: apiVersion, Kind: kindApplication}
	app.Metadata = Metadata{
		Name: c.Name, Namespace: b.platform.ArgoCD.Namespace, Labels: b.labels(c, s), Annotations: b.annotations(c),
		Finalizers: []string{resourcesFinalizer},
	}
	if b.layout == plan.AppOfApps {
		app.Metadata.Annotations[waveAnnotation] = strconv.Itoa(s.wave)
	}
	app.Spec.Project = b.project(c)
	app.Spec.Destination = b.destination
	app.Spec.Destination.Namespace = c.Namespace
	sources, err := b.sources(c)
	if len(sources) == 1 {
		app.Spec.Source = &sources[0]
	} else {
		app.Spec.Sources = sources
	}
	retry, retryErr := b.retry(c)
	app.Spec.SyncPolicy = &SyncPolicy{Automated: b.automated(), SyncOptions: b.syncOptions(c), Retry: retry}
	if len(c.NamespaceLabels)+len(c.NamespaceAnnotations) > 0 {
		app.Spec.SyncPolicy.ManagedNamespaceMetadata = &NamespaceMetadata{Labels: c.NamespaceLabels, Annotations: c.NamespaceAnnotations}
	}
	for _, d := range c.IgnoreDifferences {
		app.Spec.IgnoreDifferences = append(app.Spec.IgnoreDifferences, IgnoreDifference(d))
	}
	return app, errors.Join(err, retryErr)
}

// labels are those of the descriptor with those that RollingSync and people look
// for over them.
func (b *builder) labels(c *model.Component, s stage) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, c.Labels)
	for _, key := range []string{b.label.Phase, b.label.Part} {
		delete(labels, key) // RollingSync goes by them
	}
	set := func(key, value string) {
		if value != "" {
			labels[key] = value
		}
	}
	set(b.label.Phase, phaseOf(c))
	set(b.label.Domain, c.Domain)
	set(b.label.Type, string(c.Type))
	dependency, _ := c.Unknown[fieldDependency].(string)
	set(b.label.Dependency, cmp.Or(dependency, string(c.Type)))
	set(b.label.Environment, b.platform.Environment)
	if b.layout == plan.Tiers {
		set(b.label.Tier, s.set)
	}
	if s.parts > 0 && b.layout != plan.AppOfApps {
		set(b.label.Part, strconv.Itoa(s.part))
	}
	return labels
}

// annotations say what the descriptor does and an Application has no field for.
func (b *builder) annotations(c *model.Component) map[string]string {
	list := func(requirements []model.Requirement) string {
		var texts []string
		for _, r := range requirements {
			texts = append(texts, r.Text)
		}
		slices.Sort(texts) // as the template does
		return strings.Join(slices.Compact(texts), ",")
	}
	annotations := map[string]string{compareAnnotation: compareOptions, annotationType: string(c.Type)}
	if text := list(c.Requires); text != "" {
		annotations[annotationRequires] = text
	}
	if text := list(c.Validates); text != "" {
		annotations[annotationValidates] = text
	}
	if c.Timeout > 0 {
		annotations[annotationTimeout] = finding.Duration(c.Timeout)
	}
	return annotations
}

// project is the AppProject of a component: that of the ladder file, else its
// own, else the name of its domain.
func (b *builder) project(c *model.Component) string {
	if p := b.platform.ArgoCD.Project; p != "" {
		return b.projectName(p)
	}
	if _, written := c.Fields["project"]; !written && c.Domain != "" {
		return b.projectName(c.Domain)
	}
	return b.projectName(cmp.Or(c.Project, c.Domain, project.Default))
}

// automated is written in ApplicationSets too: RollingSync prunes by it. It says
// nothing of healing there, which RollingSync switches off.
func (b *builder) automated() *Automated {
	a := b.platform.ArgoCD
	switch {
	case !a.Automated:
		return nil
	case !b.rolling():
		return &Automated{Prune: a.Prune, SelfHeal: a.SelfHeal}
	case a.Prune:
		return &Automated{Prune: true}
	default:
		return nil
	}
}

// syncOptions are those of the descriptor, and what its content needs.
func (b *builder) syncOptions(c *model.Component) []string {
	var options []string
	for _, o := range c.SyncOptions {
		if o = strings.TrimSpace(o); !slices.Contains(options, o) {
			options = append(options, o)
		}
	}
	need := func(option string) {
		if !slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(o, option+"=") }) {
			options = append(options, option+"=true")
		}
	}
	if len(c.IgnoreDifferences) > 0 {
		need(optionRespectIgnore)
	}
	if c.Type == model.CRDs {
		need(optionServerSide)
		need(optionPruneLast)
	}
	if c.Type == model.Namespaces {
		need(optionPruneLast)
	}
	for _, option := range b.exceptions(c.Name) {
		need(option)
	}
	return options
}

// exceptions are the options that what a component renders to needs, and its
// descriptor does not tell: objects too long for a client-side apply, or applied
// before Argo CD by others, whose fields stay theirs; and kinds that come with
// the component itself.
func (b *builder) exceptions(name string) []string {
	var serverSide, skip bool
	defined := map[string]bool{}
	for _, o := range b.in.Objects[name] {
		if o.GetKind() == "CustomResourceDefinition" {
			defined[crdKind(o.Object)] = true
		}
	}
	for _, o := range b.in.Objects[name] {
		r := o.Resource()
		_, tooLong := manifest.IsTooLong(o.Object)
		serverSide = serverSide || tooLong || b.isAdopted(r)
		skip = skip || defined[r.Group+"/"+r.Kind]
	}
	var options []string
	if serverSide {
		options = append(options, optionServerSide)
	}
	if skip {
		options = append(options, optionSkipDryRun)
	}
	return options
}

// retry is that of the descriptor over that of the ladder.
func (b *builder) retry(c *model.Component) (*Retry, error) {
	r, err := b.ladderRetry()
	if err != nil || c == nil {
		return r, err
	}
	return b.overRetry(r, c.Retry, c.At("retry.backoff.factor"), "write a whole number")
}

// ladderRetry is that of every component that says nothing.
func (b *builder) ladderRetry() (*Retry, error) {
	const fix = "write a whole number in defaults.retry.backoff.factor"
	return b.overRetry(&Retry{Backoff: &Backoff{}}, b.platform.Ladder.Retry, b.platform.Ladder.Position, fix)
}

// overRetry sets what own says. Its factor is at the position.
func (b *builder) overRetry(r *Retry, own model.Retry, factor finding.Position, fix string) (*Retry, error) {
	if own.Factor != math.Trunc(own.Factor) {
		return nil, b.refuse(factor, fix, "Argo CD knows no factor such as %g", own.Factor)
	}
	if own.Limit != nil {
		r.Limit = *own.Limit
	}
	if own.Duration > 0 {
		r.Backoff.Duration = finding.Duration(own.Duration)
	}
	if own.MaxDuration > 0 {
		r.Backoff.MaxDuration = finding.Duration(own.MaxDuration)
	}
	if own.Factor > 0 {
		r.Backoff.Factor = int64(own.Factor)
	}
	return r, nil
}

// sources are those of a component, and at the end the one that value files refer
// to.
func (b *builder) sources(c *model.Component) ([]Source, error) {
	var sources []Source
	var problems []error
	values := false
	for i := range c.Sources {
		s, refers, err := b.source(c, &c.Sources[i])
		problems = append(problems, err)
		sources = append(sources, s)
		values = values || refers
	}
	if hasSmoke(c) {
		sources = append(sources, b.own(path.Join(b.folder, smokesDir, c.Name)))
	}
	if len(sources) == 0 {
		return nil, b.refuse(c.Position, "add chart, kustomize or manifests, or checks: smoke: [{endpoint: {service: <name>}}]", "the smoke %s has no source and no checks: an Application needs a source", c.Name)
	}
	if values {
		sources = append(sources, Source{RepoURL: b.repoURL, TargetRevision: b.revision, Ref: valuesRef})
	}
	return sources, errors.Join(problems...)
}

// own is a folder of this repository.
func (b *builder) own(p string) Source {
	return Source{RepoURL: b.repoURL, TargetRevision: b.revision, Path: b.inRepository(p)}
}

// source makes one source. refers is set where it has value files.
func (b *builder) source(c *model.Component, s *model.Source) (to Source, refers bool, err error) {
	if why := cmp.Or(s.Refused, s.Incomplete); why != "" {
		return to, false, b.refuse(s.Position, "", "the source of %s is not wholly known: %s", c.Name, why)
	}
	switch s.Kind {
	case model.Chart:
		return b.chart(c, s)
	case model.Kustomize:
		to = b.own(s.Path)
		to.Kustomize = kustomize(s.Kustomize)
	case model.Manifests:
		to = b.manifests(s)
	case model.Git:
		to = Source{RepoURL: s.RepoURL, TargetRevision: s.Version, Path: s.Name}
	default:
		return to, false, b.refuse(s.Position, "render it beforehand, or name a chart, a kustomization or manifests", "the source of %s is rendered by a plugin", c.Name)
	}
	return to, refers, nil
}

// ociScheme is what Argo CD leaves out of the address of a chart in an OCI
// registry. Source: Argo CD user guide, "Helm".
const ociScheme = "oci://"

func (b *builder) chart(c *model.Component, s *model.Source) (to Source, refers bool, err error) {
	if s.Path != "" {
		to = b.own(s.Path)
	} else {
		to = Source{RepoURL: strings.TrimPrefix(s.RepoURL, ociScheme), Chart: s.Name, TargetRevision: s.Version}
	}
	to.Helm = &Helm{
		ReleaseName: cmp.Or(s.ReleaseName, c.Name), SkipCrds: s.SkipCRDs, SkipTests: s.SkipTests, SkipSchema: s.SkipSchema, Namespace: s.Namespace,
		KubeVersion: s.KubeVersion, APIVersions: s.APIVersions,
	}
	switch {
	case hasNull(s.Values):
		// A null takes a value of the chart away, and a patch takes the null away.
		text, err := yaml.Marshal(s.Values)
		if err != nil {
			return to, false, fmt.Errorf("write the values of %s: %w", c.Name, err)
		}
		to.Helm.Values = string(text)
	case len(s.Values) > 0:
		to.Helm.ValuesObject = s.Values
	}
	for _, f := range s.ValueFiles {
		to.Helm.ValueFiles = append(to.Helm.ValueFiles, b.valueFile(f.Path))
		to.Helm.IgnoreMissingValueFiles = to.Helm.IgnoreMissingValueFiles || f.Optional
	}
	for _, name := range slices.Sorted(maps.Keys(s.Parameters)) {
		to.Helm.Parameters = append(to.Helm.Parameters, HelmParameter{Name: name, Value: s.Parameters[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(s.StringParameters)) {
		to.Helm.Parameters = append(to.Helm.Parameters, HelmParameter{Name: name, Value: s.StringParameters[name], ForceString: true})
	}
	for _, name := range slices.Sorted(maps.Keys(s.FileParameters)) {
		to.Helm.FileParameters = append(to.Helm.FileParameters, FileParameter{Name: name, Path: b.valueFile(s.FileParameters[name])})
	}
	return to, len(s.ValueFiles)+len(s.FileParameters) > 0, nil
}

// hasNull reports whether a value holds a null at any depth.
func hasNull(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			if item == nil || hasNull(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return item == nil || hasNull(item) })
	}
	return false
}

func (b *builder) valueFile(p string) string { return "$" + valuesRef + "/" + b.inRepository(p) }

// manifests is a folder of plain YAML, or one file of it: a path of Argo CD's is
// always a folder.
func (b *builder) manifests(s *model.Source) Source {
	if isYAML(s.Path) {
		to := b.own(path.Dir(s.Path))
		to.Directory = &Directory{Include: path.Base(s.Path)}
		return to
	}
	to := b.own(s.Path)
	if d := (Directory{Recurse: s.Recurse, Include: s.Include, Exclude: s.Exclude}); d != (Directory{}) {
		to.Directory = &d
	}
	return to
}

func isYAML(file string) bool {
	ext := path.Ext(file)
	return ext == ".yaml" || ext == ".yml" || ext == ".json"
}

func kustomize(o *model.KustomizeOptions) *Kustomize {
	if o == nil {
		return nil
	}
	k := &Kustomize{
		NamePrefix: o.NamePrefix, NameSuffix: o.NameSuffix, Namespace: o.Namespace, Images: o.Images,
		CommonLabels: o.CommonLabels, CommonAnnotations: o.CommonAnnotations,
		LabelWithoutSelector: o.LabelWithoutSelector, LabelIncludeTemplates: o.LabelIncludeTemplates,
		Patches: o.Patches, Components: o.Components,
	}
	for _, name := range slices.Sorted(maps.Keys(o.Replicas)) {
		k.Replicas = append(k.Replicas, KustomizeReplica{Name: name, Count: o.Replicas[name]})
	}
	return k
}
