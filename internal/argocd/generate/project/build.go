package project

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Argo CD's own words.
const (
	apiVersion = "argoproj.io/v1alpha1"
	kind       = "AppProject"
	// finalizer keeps a project while Applications refer to it. Source: Argo CD
	// user guide, "Projects".
	finalizer = "resources-finalizer.argocd.argoproj.io"
	// Default is the project that every Argo CD has. It is not the platform's to
	// narrow.
	Default = "default"
)

// Missing is an Application for which a project may allow too little.
type Missing struct {
	Project, Application string
	Reason               string
}

// Result is what Build makes, in the order of the names.
type Result struct {
	Projects []AppProject
	Missing  []Missing
}

// Build makes the projects that the Applications name. Credentials in an address
// are an error, which does not repeat them. A role or window for a project that
// no Application names is an error: a mistake in a name would open or close
// nothing.
func Build(in Input) (Result, error) {
	b := builder{in: in, projects: map[string]*needs{}}
	for _, app := range in.Applications {
		if err := b.add(app); err != nil {
			return Result{}, err
		}
	}
	if err := b.known(); err != nil {
		return Result{}, err
	}
	var r Result
	for _, name := range slices.Sorted(maps.Keys(b.projects)) {
		if name != Default {
			r.Projects = append(r.Projects, b.project(name))
		}
	}
	slices.SortFunc(b.missing, func(x, y Missing) int {
		return cmp.Or(strings.Compare(x.Project, y.Project), strings.Compare(x.Application, y.Application), strings.Compare(x.Reason, y.Reason))
	})
	r.Missing = slices.Compact(b.missing)
	return r, nil
}

// needs are those of the Applications of one project.
type needs struct {
	sources      map[string]bool
	destinations map[Destination]bool
	cluster      map[GroupKind]bool
	namespaced   map[GroupKind]bool
	applications int
}

type builder struct {
	in       Input
	projects map[string]*needs
	missing  []Missing
}

func (b *builder) add(app Application) error {
	name := cmp.Or(app.Project, Default)
	n := b.projects[name]
	if n == nil {
		n = &needs{map[string]bool{}, map[Destination]bool{}, map[GroupKind]bool{}, map[GroupKind]bool{}, 0}
		b.projects[name] = n
		if name == Default {
			b.missing = append(b.missing, Missing{Project: name, Reason: "it is Argo CD's own, which is left as it is"})
		}
	}
	n.applications++
	for _, source := range app.Sources {
		if strings.Contains(finding.Redact(source), "***@") && !userOnly(source) {
			return fmt.Errorf("make AppProject %s: an address among the sources of Application %s holds credentials", name, app.Name)
		}
		n.sources[source] = true
	}
	n.destinations[app.Destination] = true
	if app.CreateNamespace {
		n.cluster[GroupKind{"", "Namespace"}] = true
	}
	for _, o := range app.Objects {
		gk := GroupKind{o.Group, o.Kind}
		if o.ClusterWide {
			n.cluster[gk] = true
			continue
		}
		n.namespaced[gk] = true
		if o.Namespace != "" {
			to := app.Destination
			to.Namespace = o.Namespace
			n.destinations[to] = true
		}
	}
	if app.Unrendered != "" {
		b.missing = append(b.missing, Missing{Project: name, Application: app.Name, Reason: finding.Redact(app.Unrendered)})
	}
	return nil
}

// userOnly is true of addresses in which a user is no secret: ssh://git@host.
func userOnly(address string) bool {
	rest, ssh := strings.CutPrefix(address, "ssh://")
	user, _, _ := strings.Cut(rest, "@")
	return ssh && !strings.Contains(user, ":")
}

// known judges the names of projects that roles and windows are for.
func (b *builder) known() error {
	check := func(what string, projects []string) error {
		for _, p := range projects {
			if b.projects[p] == nil || p == Default {
				return fmt.Errorf("%s is for the AppProject %q, which is not one of %s", what, p, b.names())
			}
		}
		return nil
	}
	for _, r := range b.in.Roles {
		if err := check("role "+r.Name, r.Projects); err != nil {
			return err
		}
	}
	for _, w := range b.in.SyncWindows {
		if err := check(fmt.Sprintf("the sync window %q", w.Schedule), w.Projects); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) names() string {
	var names []string
	for name := range b.projects {
		if name != Default {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (b *builder) project(name string) AppProject {
	n := b.projects[name]
	p := AppProject{APIVersion: apiVersion, Kind: kind, Metadata: Metadata{
		Name: name, Namespace: b.in.Namespace, Labels: b.in.Labels, Finalizers: []string{finalizer},
	}}
	plural := "s"
	if n.applications == 1 {
		plural = ""
	}
	p.Spec = Spec{
		Description:                fmt.Sprintf("What %d Application%s of the platform need%s, and nothing else.", n.applications, plural, map[bool]string{true: "s"}[plural == ""]),
		SourceRepos:                sorted(n.sources, strings.Compare),
		Destinations:               sorted(n.destinations, compareDestinations),
		ClusterResourceWhitelist:   sorted(n.cluster, compareKinds),
		NamespaceResourceWhitelist: sorted(n.namespaced, compareKinds),
	}
	for _, r := range b.in.Roles {
		if len(r.Projects) == 0 || slices.Contains(r.Projects, name) {
			p.Spec.Roles = append(p.Spec.Roles, role(name, r))
		}
	}
	for _, w := range b.in.SyncWindows {
		if len(w.Projects) == 0 || slices.Contains(w.Projects, name) {
			p.Spec.SyncWindows = append(p.Spec.SyncWindows, window(w.Window))
		}
	}
	if b.in.Orphaned {
		p.Spec.OrphanedResources = &Orphaned{Warn: true}
	}
	return p
}

// sorted lists a set; an empty list is written as one, for a missing list of
// namespaced kinds allows all.
func sorted[T comparable](set map[T]bool, compare func(a, b T) int) []T {
	return append([]T{}, slices.SortedFunc(maps.Keys(set), compare)...)
}

func compareDestinations(a, b Destination) int {
	return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace))
}

func compareKinds(a, b GroupKind) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
}

// role writes the policies of a role on the Applications of its project. Source:
// Argo CD operator manual, "RBAC Configuration"; a policy of a project must name
// proj:<project>:<role> and the project's own objects.
func role(project string, r Role) Grant {
	out := Grant{Name: r.Name, Description: r.Description, Groups: r.Groups}
	for _, action := range r.Policies {
		resource := "applications"
		switch action {
		case "logs":
			resource, action = "logs", "get"
		case "exec":
			resource, action = "exec", "create"
		}
		out.Policies = append(out.Policies, fmt.Sprintf("p, proj:%s:%s, %s, %s, %s/*, allow", project, r.Name, resource, action, project))
	}
	return out
}

// window fills in that a window is for every Application where it says for none:
// Argo CD matches nothing then.
func window(w Window) Window {
	if len(w.Applications)+len(w.Namespaces)+len(w.Clusters) == 0 {
		w.Applications = []string{"*"}
	}
	return w
}
