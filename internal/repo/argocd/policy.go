package argocd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// ofSyncPolicy are fields that are written beside or below the place where Argo CD
// reads them, and do nothing there. Source: argo-cd, pkg/apis/application/v1alpha1,
// ApplicationSpec, SyncPolicy and SyncPolicyAutomated.
var ofSyncPolicy = []string{"automated", "managedNamespaceMetadata", "retry", "syncOptions"}

// ofSpec are fields that are written beside the spec and do nothing there. Source:
// ApplicationSpec.
var ofSpec = []string{"ignoreDifferences", "syncPolicy"}

// misplacedPolicy tells of them in the spec at a path of a document.
func (r *Repository) misplacedPolicy(d document, path ...string) {
	policy := append(slices.Clone(path), "syncPolicy")
	for _, place := range [][]string{path, append(slices.Clone(policy), "automated")} {
		r.misplacedFields(d, place, policy, ofSyncPolicy)
	}
	r.misplacedFields(d, path[:len(path)-1], path, ofSpec)
	r.unknownFields(d, path)
	r.foreignFinalizers(d, path[:len(path)-1])
	r.idleMetadata(d, policy)
	r.ignoredOptions(d, path)
}

// fieldsOf are all fields of the parts of a spec, by the path of the part in it. Source: argo-cd,
// pkg/apis/application/v1alpha1, ApplicationSpec and the types of its fields.
var fieldsOf = []struct {
	part   []string
	fields []string
}{
	{nil, []string{"destination", "ignoreDifferences", "info", "project", "revisionHistoryLimit", "source", "sourceHydrator", "sources", "syncPolicy"}},
	{[]string{"destination"}, []string{"name", "namespace", "server"}},
	{[]string{"syncPolicy"}, ofSyncPolicy},
	{[]string{"syncPolicy", "automated"}, []string{"allowEmpty", "enabled", "prune", "selfHeal"}},
}

var ofSource = []string{"chart", "directory", "helm", "kustomize", "name", "path", "plugin", "ref", "repoURL", "targetRevision"}

type sectionFields struct {
	name   string
	fields []string
}

// ofSection are the fields of the sections of a source. Source: ApplicationSourceHelm,
// ApplicationSourceKustomize and ApplicationSourceDirectory.
var ofSection = []sectionFields{
	{"helm", []string{
		"apiVersions", "fileParameters", "ignoreMissingValueFiles", "kubeVersion", "namespace", "parameters", "passCredentials",
		"releaseName", "skipCrds", "skipSchemaValidation", "skipTests", "valueFiles", "values", "valuesObject", "version",
	}},
	{"directory", []string{"exclude", "include", "jsonnet", "recurse"}},
	{"kustomize", []string{
		"apiVersions", "commonAnnotations", "commonAnnotationsEnvsubst", "commonLabels", "components", "forceCommonAnnotations",
		"forceCommonLabels", "ignoreMissingComponents", "images", "kubeVersion", "labelIncludeTemplates", "labelWithoutSelector",
		"namePrefix", "nameSuffix", "namespace", "patches", "replicas", "version",
	}},
}

// says reports whether a section of a source sets a field that Argo CD reads: one that does not
// is as if it were not there. Source: argo-cd, util/argo, NormalizeSource.
func says(source *yamldoc.Value, section string) bool {
	v := source.At(section)
	if v == nil {
		return false
	}
	i := slices.IndexFunc(ofSection, func(s sectionFields) bool { return s.name == section })
	return slices.ContainsFunc(v.Entries, func(e yamldoc.Entry) bool {
		return isSet(e.Value) && slices.Contains(ofSection[i].fields, e.Key)
	})
}

// kindsAsked are the sections of a source that each ask for a way to build it. Source:
// argo-cd, ApplicationSource.ExplicitType.
func kindsAsked(source *yamldoc.Value) (all []string) {
	for _, section := range []string{"kustomize", "helm"} {
		if says(source, section) {
			all = append(all, section)
		}
	}
	if isExplicit(source.At("directory")) {
		all = append(all, "directory")
	}
	if source.At("plugin") != nil {
		all = append(all, "plugin")
	}
	return all
}

// isSet reports whether a field is not at what it is without being written.
func isSet(v *yamldoc.Value) bool {
	switch v.Kind {
	case yamldoc.Map:
		return len(v.Entries) > 0
	case yamldoc.List:
		return len(v.Items) > 0
	case yamldoc.Scalar:
		return v.Text != "" && v.Text != "false" && v.Text != "0"
	case yamldoc.Null:
	}
	return false
}

// unknownFields tells of fields in the spec at a path that no Application has. The schema of
// the kind says so, and who validates by it refuses the object.
func (r *Repository) unknownFields(d document, path []string) {
	at := func(keys ...string) finding.Position { return d.at(slices.Concat(path, keys)...) }
	place := strings.Join(path, ".")
	for _, p := range fieldsOf {
		r.unknownIn(d, d.value.At(slices.Concat(path, p.part)...), p.fields, strings.Join(slices.Concat(path, p.part), "."), func(field string) finding.Position { return at(append(slices.Clone(p.part), field)...) })
	}
	r.unknownInSource(d, d.value.At(slices.Concat(path, []string{"source"})...), place+".source", func(keys ...string) finding.Position { return at(append([]string{"source"}, keys...)...) })
	if list := d.value.At(slices.Concat(path, []string{"sources"})...); list != nil {
		for i, item := range list.Items {
			r.unknownInSource(d, item, fmt.Sprintf("%s.sources[%d]", place, i), func(...string) finding.Position { return at("sources") })
		}
	}
}

func (r *Repository) unknownInSource(d document, source *yamldoc.Value, place string, at func(keys ...string) finding.Position) {
	if source == nil || source.Kind != yamldoc.Map {
		return
	}
	r.unknownIn(d, source, ofSource, place, func(field string) finding.Position { return at(field) })
	for _, s := range ofSection {
		r.unknownIn(d, source.At(s.name), s.fields, place+"."+s.name, func(field string) finding.Position { return at(s.name, field) })
	}
}

func (r *Repository) unknownIn(d document, part *yamldoc.Value, fields []string, place string, at func(field string) finding.Position) {
	if part == nil || part.Kind != yamldoc.Map {
		return
	}
	for _, e := range part.Entries {
		// What stands elsewhere by mistake is told with the place that it belongs to.
		if slices.Contains(fields, e.Key) || slices.Contains(ofSyncPolicy, e.Key) || e.Key == "dependsOn" || e.Key == "<<" || hasPlaceholder(e.Key) {
			continue
		}
		f := newFinding(RuleUnknown, finding.Warning, at(e.Key), d.name(),
			"%s.%s is no field of an Application and has no effect: kubectl apply refuses the object, and an Application that applies it is never in sync", place, e.Key)
		section := ""
		for _, s := range ofSection {
			if section == "" && slices.Contains(fields, "repoURL") && slices.Contains(s.fields, e.Key) {
				section = s.name
			}
		}
		switch meant := yamldoc.Nearest(e.Key, fields); {
		case strings.EqualFold(strings.TrimSuffix(e.Key, "s"), "syncWave"):
			f.Fix.Summary = "write the annotation argocd.argoproj.io/sync-wave"
		case section != "":
			f.Fix.Summary = "move it to " + place + "." + section + "." + e.Key
		case e.Key == "buildOptions":
			f.Fix.Summary = "write kustomize.buildOptions into argocd-cm: they are of all kustomizations"
		case meant != "":
			f.Fix.Summary = "write " + meant
		default:
			f.Fix.Summary = "take it away"
		}
		r.findings = append(r.findings, f)
	}
}

// idleMetadata tells of labels and annotations of a namespace that Argo CD does not make.
// Source: Argo CD, "Sync Options", namespace metadata.
func (r *Repository) idleMetadata(d document, policy []string) {
	const field = "managedNamespaceMetadata"
	metadata := d.value.At(append(slices.Clone(policy), field)...)
	if metadata == nil || len(metadata.Entries) == 0 || d.value.At("spec", "templatePatch") != nil {
		return // a patch may add the option
	}
	for _, option := range d.value.At(append(slices.Clone(policy), "syncOptions")...).Elements() {
		if text := strings.TrimSpace(option.Text); text == "CreateNamespace=true" || hasPlaceholder(text) {
			return
		}
	}
	f := newFinding(RuleUnknown, finding.Info, d.at(append(slices.Clone(policy), field)...), d.name(),
		"%s.%s has no effect: Argo CD heeds it with the sync option CreateNamespace=true only", strings.Join(policy, "."), field)
	f.Fix.Summary = "add CreateNamespace=true to syncOptions, or write the metadata on the Namespace"
	r.findings = append(r.findings, f)
}

// misplacedFields tells of those of fields that are at a place, and not where Argo CD reads
// them.
func (r *Repository) misplacedFields(d document, place, right, fields []string) {
	for _, field := range fields {
		if _, ok := d.value.At(place...).Get(field); !ok {
			continue
		}
		wrong := append(slices.Clone(place), field)
		read := strings.Join(append(slices.Clone(right), field), ".")
		f := newFinding(RuleUnknown, finding.Warning, d.at(wrong...), d.name(),
			"%s is no field of an Application and has no effect: Argo CD reads %s", strings.Join(wrong, "."), read)
		f.Fix.Summary = "move it to " + read
		r.findings = append(r.findings, f)
	}
}
