package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

const ruleProject = "project-forbids"

// projectForbids finds what an AppProject of the repository does not allow its
// Applications. A project that the repository does not hold allows everything as
// far as is known. Source: Argo CD, pkg/apis/application/v1alpha1,
// app_project_types.go.
func projectForbids(in Input) []finding.Finding {
	projects := map[string][]argo.Project{}
	for _, p := range in.Argo.Projects {
		projects[p.Name] = append(projects[p.Name], p)
	}
	var global []argo.Project
	for _, name := range in.Argo.Settings.Global {
		if len(projects[name]) == 0 {
			return nil // what it allows is not known, and may be everything
		}
		global = append(global, projects[name]...)
	}
	if len(projects) == 0 {
		return nil
	}
	components := map[string]*model.Component{}
	for i := range in.Components {
		components[in.Components[i].Name] = &in.Components[i]
	}
	objects := map[string][]*Object{}
	for i := range in.Objects {
		object := &in.Objects[i]
		if c := components[object.Component]; c != nil {
			if _, hidden := hides(in.Argo.Settings, object.Resource, c); hidden {
				continue // what is left out of a sync is not judged by the project
			}
		}
		objects[object.Component] = append(objects[object.Component], object)
	}
	// Argo CD has one name for each cluster: where its own is called in-cluster, another
	// name is that of another cluster.
	named := slices.ContainsFunc(in.Argo.Applications, func(a argo.Application) bool { return a.Destination.Name == "in-cluster" })
	namespaces := newNamespaces(in)
	var all []refusal
	for _, app := range in.Argo.Applications {
		name := cmp.Or(app.Project, "default")
		// Overlays may hold projects of one name; which of them is in force is not
		// known.
		if len(projects[name]) != 1 || templated(name) || app.Assumed && app.Set == "" {
			continue
		}
		j := judge{app: app, project: projects[name][0].Inherit(global)}
		if d := j.app.Destination; d.Server == "" && d.Name != "" && d.Name != "in-cluster" && named {
			j.app.Destination.Server = unknownServer
		}
		j.sources()
		if j.destination() && app.Component != "" {
			j.objects(objects[app.Component])
			j.created(namespaces)
		}
		all = append(all, j.out...)
	}
	return refused(all)
}

// templated reports whether a text holds a template that was not filled in.
func templated(s string) bool { return unfilled.MatchString(s) }

// unfilled matches what people write for other tools to fill in.
var unfilled = lazyregexp.New(`\{\{|\$\{|<[A-Z][A-Z0-9_]+>|\b__[A-Z][A-Z0-9_]*[A-Z0-9]__\b`)

// judge compares one Application with its project.
type judge struct {
	app     argo.Application
	project argo.Project
	out     []refusal
}

// refusal is one thing that a project does not allow one of its Applications.
type refusal struct {
	app     argo.Application
	project argo.Project
	thing   string // "the source https://..."
	fix     string
	// object goes to a place, or is of a kind, that is not allowed; its kind is
	// empty where the Application itself is refused.
	object   finding.Resource
	goes     bool
	position finding.Position
}

func (j *judge) report(r refusal) {
	r.app, r.project = j.app, j.project
	if r.position.File == "" {
		r.position = j.app.Position
	}
	j.out = append(j.out, r)
}

// refused makes one finding of each thing that a project does not allow, however
// many of its Applications want it: it is allowed in one place.
func refused(all []refusal) []finding.Finding {
	slices.SortStableFunc(all, func(a, b refusal) int {
		return cmp.Or(strings.Compare(a.project.Name, b.project.Name), strings.Compare(a.thing, b.thing), a.position.Compare(b.position), strings.Compare(a.app.Name, b.app.Name))
	})
	var out []finding.Finding
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(r refusal) bool { return r.project.Name != all[0].project.Name || r.thing != all[0].thing })
		if n < 0 {
			n = len(all)
		}
		out = append(out, refusedOne(all[:n]))
		all = all[n:]
	}
	return out
}

// refusedOne makes a finding of refusals with one cause.
func refusedOne(all []refusal) finding.Finding {
	first := all[0]
	var others []refusal
	seen := map[string]bool{first.app.Name: true}
	for _, r := range all {
		if !seen[r.app.Name] {
			seen[r.app.Name] = true
			others = append(others, r)
		}
	}
	who := first.app.Name
	switch len(others) {
	case 0:
	case 1:
		who += " and 1 more Application"
	default:
		who += fmt.Sprintf(" and %d more Applications", len(others))
	}
	f := aboutApplication(first.app, ruleProject, finding.Error, "project %s does not allow %s %s", first.project.Name, who, first.thing)
	if first.goes {
		f.Message += ", where " + first.object.Human() + " goes"
	}
	if first.project.Unapplied && !beside(first.app.Position.File, first.project.Position.File) {
		f.Severity = finding.Warning
		f.Message += "; nothing in the repository applies the project, so that the cluster may have another"
	}
	if first.object.Kind != "" {
		f.Resource, f.Basis = first.object, finding.Rendered
	}
	f.Position, f.Fix.Summary = first.position, first.fix
	f.Evidence = append(f.Evidence, where(first.project.Position, "AppProject %s", first.project.Name))
	for _, r := range others[:min(len(others), named)] {
		f.Evidence = append(f.Evidence, where(r.position, "Application %s", r.app.Name))
	}
	if rest := len(others) - named; rest > 0 {
		f.Evidence = append(f.Evidence, where(others[named].position, "and %d more Applications", rest))
	}
	return f
}

// beside reports whether two files lie in one part of a repository, which people
// apply together: at its top, or in one folder there.
func beside(a, b string) bool {
	one, _, below := strings.Cut(a, "/")
	other, _, too := strings.Cut(b, "/")
	return !below || !too || one == other
}

func (j *judge) sources() {
	seen := map[string]bool{}
	for _, s := range j.app.Sources {
		if s.RepoURL == "" || templated(s.RepoURL) || seen[s.RepoURL] {
			continue
		}
		seen[s.RepoURL] = true
		if !allowsSource(j.project.SourceRepos, s.RepoURL) {
			j.report(refusal{thing: "the source " + s.RepoURL, fix: "add the repository to sourceRepos of the project"})
		}
	}
}

// allowsSource follows AppProject.IsSourcePermitted: one pattern must match and
// no denying one ("!...") may.
func allowsSource(patterns []string, address string) bool {
	address = normalAddress(address)
	allowed := false
	for _, p := range patterns {
		if deny, ok := strings.CutPrefix(p, "!"); ok {
			if glob(normalAddress(deny), address, '/') {
				return false
			}
			allowed = true
			continue
		}
		allowed = allowed || p == "*" || glob(normalAddress(p), address, '/')
	}
	return allowed
}

// normalAddress brings addresses of one repository to one form, as Argo CD does.
func normalAddress(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if user, rest, ok := strings.Cut(s, "@"); ok && !strings.Contains(user, "/") && !strings.Contains(s, "://") {
		s = user + "@" + strings.Replace(rest, ":", "/", 1)
	}
	return strings.TrimPrefix(strings.TrimSuffix(s, ".git"), "ssh://")
}

// cluster is a destination with both of its names, as far as they are known.
func (j *judge) cluster() argo.Destination {
	d := j.app.Destination
	if d.Server == inCluster || d.Name == "in-cluster" {
		d.Server, d.Name = inCluster, "in-cluster"
	}
	return d
}

// destination judges the destination of the Application itself; false means that
// nothing more can be said about places.
func (j *judge) destination() bool {
	d := j.cluster()
	if d.Server == "" && d.Name == "" || templated(d.Server+d.Name+d.Namespace) {
		return false
	}
	if allowsDestination(j.project.Destinations, d) {
		return true
	}
	j.report(refusal{thing: "the " + destinationText(d), fix: "add the destination to the project, or choose another project"})
	return false
}

func destinationText(d argo.Destination) string {
	return fmt.Sprintf("namespace %q of %s", d.Namespace, cmp.Or(d.Name, d.Server))
}

// unknownServer stands for the address of a cluster that is not the one of Argo CD.
const unknownServer = "(unknown)"

// allowsDestination follows AppProject.isDestinationMatched. A cluster of which
// one name alone is known may match a pattern for the other.
func allowsDestination(patterns []argo.Destination, d argo.Destination) bool {
	denies := func(pattern string) bool { return strings.HasPrefix(pattern, "!") }
	matches := func(pattern, value string) bool {
		if deny, ok := strings.CutPrefix(pattern, "!"); ok {
			return !glob(deny, value)
		}
		return pattern == "*" || glob(pattern, value)
	}
	allowed := false
	for _, p := range patterns {
		name := p.Name != "" && (d.Name == "" || matches(p.Name, d.Name))
		server := p.Server != "" && (d.Server == "" || d.Server == unknownServer && p.Server != inCluster || matches(p.Server, d.Server))
		namespace := matches(p.Namespace, d.Namespace)
		switch {
		case (name || server) && namespace:
			allowed = true
		case !name && denies(p.Name), !server && denies(p.Server) && namespace, !namespace && denies(p.Namespace) && server:
			return false
		}
	}
	return allowed
}

// objects judges the kinds and namespaces of what is rendered; one object speaks
// for all of its kind or namespace.
func (j *judge) objects(all []*Object) {
	type kind struct {
		group, kind string
		namespaced  bool
	}
	kinds, namespaces := map[kind]bool{}, map[string]bool{}
	for _, o := range all {
		r := o.Resource
		k := kind{r.Group, r.Kind, r.Namespace != ""}
		if !kinds[k] {
			kinds[k] = true
			if !j.allowsKind(r) {
				j.report(refusal{position: o.Position, object: r, thing: "the kind " + kindText(r), fix: "allow the kind in the project, or choose another project"})
			}
		}
		if r.Namespace == "" || r.Namespace == j.app.Destination.Namespace || namespaces[r.Namespace] || templated(r.Namespace) {
			continue
		}
		namespaces[r.Namespace] = true
		d := j.cluster()
		d.Namespace = r.Namespace
		if !allowsDestination(j.project.Destinations, d) {
			j.report(refusal{position: o.Position, object: r, goes: true, thing: "the " + destinationText(d),
				fix: "add the namespace to the destinations of the project, or choose another project"})
		}
	}
}

// allowsKind follows AppProject.IsGroupKindPermitted: of cluster-wide kinds none
// is allowed that is not listed, of others every kind is while there is no list.
func (j *judge) allowsKind(r finding.Resource) bool {
	listed := func(list []argo.GroupKind) bool {
		return slices.ContainsFunc(list, func(k argo.GroupKind) bool { return glob(k.Kind, r.Kind, '/') && glob(k.Group, r.Group, '/') })
	}
	if r.Namespace == "" {
		return listed(j.project.ClusterAllow) && !listed(j.project.ClusterDeny)
	}
	return (j.project.NamespaceAllow == nil || listed(j.project.NamespaceAllow)) && !listed(j.project.NamespaceDeny)
}

func kindText(r finding.Resource) string {
	scope := "namespaced"
	if r.Namespace == "" {
		scope = "cluster-wide"
	}
	if r.Group == "" {
		return r.Kind + " (" + scope + ")"
	}
	return r.Group + "/" + r.Kind + " (" + scope + ")"
}
