package generate

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/project"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// called fills in the template of a name.
func (b *builder) called(template string, more map[string]string) string {
	values := map[string]string{
		ladderfile.PlacePlatform: b.name, ladderfile.PlaceEnvironment: b.platform.Environment,
	}
	maps.Copy(values, more)
	return ladderfile.Fill(template, values)
}

// rootName is that of the root Application.
func (b *builder) rootName() string {
	if template := b.platform.ArgoCD.Names.Root; template != "" {
		return b.called(template, nil)
	}
	name := b.called("{{platform}}-{{environment}}", nil)
	// The Application of a tier has the name of its set: in a platform that is called
	// "platform", that of the tier platform.
	if b.layout == plan.Tiers && slices.ContainsFunc(b.sets(), func(tier string) bool { return tier != "" && b.setName(tier) == name }) {
		return b.called("{{platform}}-root-{{environment}}", nil)
	}
	return name
}

// rootProjectName is that of the AppProject of the Applications which apply others.
func (b *builder) rootProjectName() string {
	if template := b.platform.ArgoCD.Names.RootProject; template != "" {
		return b.called(template, nil)
	}
	return b.rootName()
}

// setName is that of the ApplicationSet of a tier and of the Application that applies
// it, or of the one ApplicationSet, whose tier is empty.
func (b *builder) setName(tier string) string {
	template := b.platform.ArgoCD.Names.ApplicationSets.For(tier)
	switch {
	case template != "":
		return b.called(template, map[string]string{ladderfile.PlaceTier: tier})
	case tier == "":
		return b.rootName()
	default:
		return tier + "-" + b.platform.Environment
	}
}

// projectName is the AppProject for the project that a component has. Argo CD's own
// keeps its name.
func (b *builder) projectName(of string) string {
	template := b.platform.ArgoCD.Names.Projects.For(of)
	if template == "" || of == project.Default {
		return of
	}
	return b.called(template, map[string]string{ladderfile.PlaceProject: of})
}

// projectNames are those for the projects that components have.
func (b *builder) projectNames(of []string) []string {
	var names []string
	for _, name := range of {
		names = append(names, b.projectName(name))
	}
	return names
}

// misnamed refuses names of the ladder file that no object can have, or that two
// would.
func (b *builder) misnamed() error {
	var problems []error
	refuse := func(field, format string, args ...any) {
		problems = append(problems, b.refuse(b.platform.ArgoCD.At("names."+field), "", format, args...))
	}
	check := func(field, what, name string) {
		if !isLabel(name) {
			refuse(field, "%s would be called %q, which is not a name that an object can have", what, name)
		}
	}
	names := b.platform.ArgoCD.Names
	if names.Root != "" {
		check("root", "the root Application", b.rootName())
	}
	if names.RootProject != "" {
		check("rootProject", "the AppProject of the root Application", b.rootProjectName())
		if b.rootProjectName() == project.Default {
			refuse("rootProject", "the AppProject %s is Argo CD's own, which the platform does not write", project.Default)
		}
	}
	of := map[string]string{b.rootName(): "the root Application"}
	switch b.layout {
	case plan.Single:
		if names.ApplicationSets.All != "" {
			check("applicationSets", "the ApplicationSet", b.setName(""))
		}
	case plan.Tiers:
		for _, tier := range b.sets() {
			name, what := b.setName(tier), "the ApplicationSet of the tier "+tier
			if names.ApplicationSets.For(tier) != "" {
				check("applicationSets", what, name)
			}
			if other, taken := of[name]; taken {
				refuse("applicationSets", "%s and %s would both be called %q", other, what, name)
			}
			of[name] = what
		}
		for _, tier := range slices.Sorted(maps.Keys(names.ApplicationSets.Of)) {
			if !slices.Contains(b.sets(), tier) {
				problems = append(problems, b.refuse(b.platform.ArgoCD.At("names.applicationSets."+tier), yamldoc.Meant(tier, b.sets()), "argocd.names.applicationSets names %q, which is no tier", tier))
			}
		}
	default: // Applications alone, with the names of components
	}
	b.strayProjects()
	return errors.Join(problems...)
}

// strayProjects warns of names for projects that no component has, and that are spelled nearly like one
// that some have. Components of other environments may have any other.
func (b *builder) strayProjects() {
	known := []string{b.platform.ArgoCD.Project}
	for _, c := range b.platform.Components {
		known = append(known, c.Project, c.Domain)
	}
	names := b.platform.ArgoCD.Names.Projects.Of
	for _, of := range slices.Sorted(maps.Keys(names)) {
		near := yamldoc.Nearest(of, known)
		if _, both := names[near]; near == "" || both || slices.Contains(known, of) {
			continue
		}
		b.warn(b.platform.ArgoCD.At("names.projects."+of), "argocd.names.projects names %q, which no component of %s has as its project; did you mean %s?", of, b.platform.Environment, near)
	}
}

// unique refuses two files of one path: the ladder file says where they land.
func (b *builder) unique() error {
	known := map[string]bool{}
	for _, f := range b.out {
		if known[f.Path] {
			return b.refuse(b.platform.ArgoCD.At("files"), "give them folders of their own in argocd.files", "two files would be %s", f.Path)
		}
		known[f.Path] = true
	}
	return nil
}

// setIn is the file of an ApplicationSet, and for that of a tier the source that its
// Application applies.
func (b *builder) setIn(tier string) (file string, directory *Directory) {
	folder := b.platform.ArgoCD.Files.ApplicationSets
	switch {
	case folder == "" && tier == "":
		return setFile, nil
	case folder == "":
		return path.Join(tiersDir, tier, setFile), nil
	case tier == "":
		return path.Join(folder, b.setName("")+".yaml"), nil
	default:
		return path.Join(folder, tier+".yaml"), &Directory{Include: tier + ".yaml"}
	}
}

// applicationFile is the file of an Application.
func (b *builder) applicationFile(name string) string {
	return path.Join(cmp.Or(b.platform.ArgoCD.Files.Applications, applicationsDir), name+".yaml")
}
