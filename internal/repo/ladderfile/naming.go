package ladderfile

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// The placeholders of argocd.out and argocd.names.
const (
	PlaceEnvironment = "environment"
	PlacePlatform    = "platform"
	PlaceTier        = "tier"
	PlaceProject     = "project"
)

// Names are those of generated objects, as templates; an empty one is the default.
type Names struct {
	// Root is the root Application, RootProject the AppProject of the Applications
	// that bring the others.
	Root, RootProject string
	// ApplicationSets are by tier, Projects by the project that a component has.
	ApplicationSets, Projects Naming
}

// Naming is one template for all names, or one for each.
type Naming struct {
	All string
	Of  map[string]string
}

// For is the template of the name of key; empty for the default.
func (n Naming) For(key string) string {
	if text, ok := n.Of[key]; ok {
		return text
	}
	return n.All
}

// Labels are the keys of the labels that generated Applications carry.
type Labels struct {
	Phase, Part, Domain, Tier, Type, Dependency, Environment string
}

// DefaultLabels are those of a file that names none.
func DefaultLabels() Labels {
	return Labels{
		Phase: "rollout-phase", Part: "rollout-part", Domain: "domain", Tier: "tier",
		Type: "componentType", Dependency: "dependencyPhase", Environment: "environment",
	}
}

// Files are folders of generated files below that of the environment; an empty one
// is the default.
type Files struct {
	// Projects and ApplicationSets hold one file for each.
	Projects, ApplicationSets string
	Applications              string
	Settings, Repositories    string
}

// Folder is where the files of an environment land: below out, or where out says.
func Folder(out, environment string) string {
	if filled := Fill(out, map[string]string{PlaceEnvironment: environment}); filled != out {
		return filled
	}
	return path.Join(out, environment)
}

var placeholder = lazyregexp.New(`\{\{\s*([^{}]*?)\s*\}\}`)

// Fill puts values in the place of placeholders.
func Fill(text string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(place string) string {
		if value, ok := values[placeholder.FindStringSubmatch(place)[1]]; ok {
			return value
		}
		return place
	})
}

// foreign is the first placeholder of a text that is none of those that are known, or
// what is left of one that is not closed; empty for none.
func foreign(text string, known ...string) string {
	for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(known, found[1]) {
			return found[0]
		}
	}
	rest := placeholder.ReplaceAllString(text, "")
	if i := strings.IndexAny(rest, "{}"); i >= 0 {
		return rest[i:]
	}
	return ""
}

// names reads argocd.names.
func (d *decoder) names(f *yamldoc.Fields) {
	m := f.Map("names")
	if m == nil {
		return
	}
	n := &d.file.ArgoCD.Names
	n.Root = d.template(m, "root", PlacePlatform, PlaceEnvironment)
	n.RootProject = d.template(m, "rootProject", PlacePlatform, PlaceEnvironment)
	n.ApplicationSets = d.naming(m, "applicationSets", PlacePlatform, PlaceEnvironment, PlaceTier)
	n.Projects = d.naming(m, "projects", PlacePlatform, PlaceEnvironment, PlaceProject)
	d.unknown(m)
}

// naming reads one template, or a map of them.
func (d *decoder) naming(f *yamldoc.Fields, key string, places ...string) (n Naming) {
	e, ok := f.Entry(key)
	if !ok || e.Value.Kind != yamldoc.Map {
		n.All = d.template(f, key, places...)
		return n
	}
	m := f.Map(key)
	for _, each := range e.Value.Entries {
		if text := d.template(m, each.Key, places...); text != "" {
			if n.Of == nil {
				n.Of = map[string]string{}
			}
			n.Of[each.Key] = text
		}
	}
	return n
}

// template reads the template of a name.
func (d *decoder) template(f *yamldoc.Fields, key string, places ...string) string {
	text := f.Text(key)
	values := map[string]string{}
	for _, p := range places {
		values[p] = "a"
	}
	bad := foreign(text, places...)
	switch {
	case text == "":
	case bad != "":
		f.Wrong(key, "use {{"+strings.Join(places, "}}, {{")+"}}", "%s has the unknown placeholder %s", yamldoc.Join(f.Path, key), bad)
		return ""
	case !label(Fill(text, values)):
		f.Wrong(key, "use lower-case letters, digits and '-'", "%s %q is not a name that an object of Argo CD can have", yamldoc.Join(f.Path, key), text)
		return ""
	}
	return text
}

// labels reads argocd.labels.
func (d *decoder) labels(f *yamldoc.Fields) {
	m := f.Map("labels")
	if m == nil {
		return
	}
	l := DefaultLabels()
	all := map[string]*string{
		"phase": &l.Phase, "part": &l.Part, "domain": &l.Domain, "tier": &l.Tier,
		"componentType": &l.Type, "dependencyPhase": &l.Dependency, "environment": &l.Environment,
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if text := m.Text(key); text != "" && labelKey(text) {
			*all[key] = text
		} else if text != "" {
			m.Wrong(key, "write a key such as wave or example.com/wave", "argocd.labels.%s %q is not the key of a label", key, text)
		}
	}
	d.unknown(m)
	taken := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if other, ok := taken[*all[key]]; ok {
			m.Wrong(key, "give each label a key of its own", "argocd.labels.%s and argocd.labels.%s are both %s", other, key, *all[key])
			return
		}
		taken[*all[key]] = key
	}
	d.file.ArgoCD.Labels = l
}

var (
	labelName   = lazyregexp.New(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelPrefix = lazyregexp.New(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
)

// labelKey reports whether a text can be the key of a label. Source:
// k8s.io/apimachinery, pkg/util/validation, IsQualifiedName.
func labelKey(text string) bool {
	prefix, name, ok := strings.Cut(text, "/")
	if !ok {
		return labelName.MatchString(text)
	}
	return labelPrefix.MatchString(prefix) && labelName.MatchString(name)
}

// files reads argocd.files.
func (d *decoder) files(f *yamldoc.Fields) {
	m := f.Map("files")
	if m == nil {
		return
	}
	to := &d.file.ArgoCD.Files
	for key, folder := range map[string]*string{
		"projects": &to.Projects, "applicationSets": &to.ApplicationSets, "applications": &to.Applications,
		"settings": &to.Settings, "repositories": &to.Repositories,
	} {
		text := m.Text(key)
		if text == "" {
			continue
		}
		clean, ok := below(text)
		if !ok || foreign(text) != "" {
			m.Wrong(key, "write a folder such as "+strings.ToLower(key), "argocd.files.%s %q is not a folder below that of the environment", key, text)
			continue
		}
		*folder = clean
	}
	d.unknown(m)
}

// below is the clean path of a folder below another one.
func below(text string) (string, bool) {
	clean := path.Clean(text)
	return clean, !path.IsAbs(text) && clean != "." && clean != ".." && !strings.HasPrefix(clean, "../") && !strings.Contains(text, "\\")
}
