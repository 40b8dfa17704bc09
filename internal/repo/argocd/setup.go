package argocd

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// writtenWave reads the sync wave of metadata as it is written.
func writtenWave(d document, keys ...string) argo.Wave {
	keys = append(keys, "metadata", "annotations", waveAnnotation)
	v := d.value.At(keys...)
	if v == nil || v.Kind != yamldoc.Scalar {
		return argo.Wave{}
	}
	n, err := strconv.Atoi(v.Text)
	if err != nil {
		n = 0
	}
	wave := argo.Wave{Value: n, Written: v.Text, Position: d.at(keys...)}
	if d.wave != nil && len(keys) == 3 { // its own, and not that of a template in it
		wave.Position, wave.Of, wave.Template = d.wave.at, d.wave.of, !d.wave.known
	}
	return wave
}

// patchWave notes the sync waves that the templatePatch of a set stamps on all that it generates.
func patchWave(set *argo.ApplicationSet, d document, generated []document) {
	if set.TemplateWave.Written != "" || len(generated) == 0 || d.value.At("spec", "templatePatch") == nil {
		return
	}
	var first argo.Wave
	lowest, highest := math.MaxInt, math.MinInt
	for i, app := range generated {
		wave := writtenWave(app)
		if wave.Written == "" {
			return
		}
		if i == 0 {
			first = wave
		}
		lowest, highest = min(lowest, wave.Value), max(highest, wave.Value)
	}
	if lowest != highest {
		first.Written = fmt.Sprintf("%d to %d", lowest, highest)
	}
	first.Position = d.at("spec", "templatePatch")
	set.TemplateWave = first
}

func strs(v *yamldoc.Value) []string {
	if v == nil {
		return nil
	}
	var all []string
	for _, item := range v.Items {
		if item.Kind == yamldoc.Scalar {
			all = append(all, item.Text)
		}
	}
	return all
}

// recordApplication notes an Application and returns its index.
func (w *walk) recordApplication(parent string, d document) int {
	spec := d.value.At("spec")
	app := argo.Application{
		Name: d.name(), Namespace: cmp.Or(d.value.TextAt("metadata", "namespace"), defaultNamespace),
		Project: cmp.Or(spec.TextAt("project"), "default"), Parent: parent,
		Wave: writtenWave(d), Labels: labels(d),
		SyncOptions: strs(spec.At("syncPolicy", "syncOptions")),
		Destination: argo.Destination{
			Server: spec.TextAt("destination", "server"), Name: spec.TextAt("destination", "name"), Namespace: spec.TextAt("destination", "namespace"),
		},
		Position: d.position(),
	}
	app.Assumed = d.assumed
	if d.generated != nil {
		app.Set, app.Assumed = d.generated.set.name(), d.assumed || d.generated.assumed
	}
	if automated := spec.At("syncPolicy", "automated"); automated != nil && automated.Kind == yamldoc.Map {
		app.Automated = true
		if enabled := automated.At("enabled"); enabled != nil {
			if on, ok := enabled.Bool(); ok {
				app.Automated = on
			}
		}
		if heal := automated.At("selfHeal"); heal != nil && app.Automated {
			app.SelfHeal, _ = heal.Bool()
		}
	}
	for _, s := range d.sources() {
		app.Sources = append(app.Sources, argo.Source{
			RepoURL: s.repoURL(), Path: s.path(), Chart: s.value.TextAt("chart"), Revision: s.value.TextAt("targetRevision"),
		})
	}
	if d.value.TextAt("metadata", "namespace") != "" {
		app.Placed = d.at("metadata", "namespace")
	}
	app.Needs = w.repository.buildNeeds(d)
	if _, ok := spec.Get("dependsOn"); ok {
		app.DependsOn = d.at("spec", "dependsOn")
	}
	w.setup.Applications = append(w.setup.Applications, app)
	return len(w.setup.Applications) - 1
}

// recordSet notes an ApplicationSet and returns its index.
func (w *walk) recordSet(parent string, d document) int {
	set := argo.ApplicationSet{
		Name: d.name(), Namespace: cmp.Or(d.value.TextAt("metadata", "namespace"), defaultNamespace), Parent: parent,
		Wave: writtenWave(d), RollingSync: d.value.TextAt("spec", "strategy", "type") == "RollingSync", Steps: steps(d),
		Template: d.at("spec", "template"), TemplateWave: writtenWave(d, "spec", "template"), Position: d.position(),
		Unread: w.repository.partial[d.value],
	}
	w.setup.ApplicationSets = append(w.setup.ApplicationSets, set)
	return len(w.setup.ApplicationSets) - 1
}

func (w *walk) project(ctx context.Context, parent string, d document) {
	if d.assumed {
		return // what it says is not known
	}
	p := project(d)
	// A hook comes at another time than its wave says, and what people apply before.
	if d.value.At("metadata", "annotations", "argocd.argoproj.io/hook") == nil && !w.repository.isHanded(ctx, d.position().File) {
		p.Parent, p.Wave = parent, writtenWave(d)
	}
	w.setup.Projects = append(w.setup.Projects, p)
}

// project reads an AppProject. The project default is there before anybody applies it, and allows
// all, so that fields which are not written keep what they have. Source: Argo CD, "Projects";
// server/server.go, initializeDefaultProject.
func project(d document) argo.Project {
	spec := d.value.At("spec")
	kept := func(field string) bool { return d.name() == defaultName && spec.At(field) == nil }
	p := argo.Project{
		Name: d.name(), SourceRepos: strs(spec.At("sourceRepos")), Position: d.position(),
		ClusterAllow: kinds(spec, "clusterResourceWhitelist"), ClusterDeny: kinds(spec, "clusterResourceBlacklist"),
		NamespaceAllow: kinds(spec, "namespaceResourceWhitelist"), NamespaceDeny: kinds(spec, "namespaceResourceBlacklist"),
	}
	if kept("sourceRepos") {
		p.SourceRepos = []string{"*"}
	}
	if kept("clusterResourceWhitelist") {
		p.ClusterAllow = []argo.GroupKind{{Group: "*", Kind: "*"}}
	}
	if kept("destinations") {
		p.Destinations = []argo.Destination{{Server: "*", Namespace: "*"}}
	}
	if list := spec.At("destinations"); list != nil {
		for _, item := range list.Items {
			p.Destinations = append(p.Destinations, argo.Destination{
				Server: item.TextAt("server"), Name: item.TextAt("name"), Namespace: item.TextAt("namespace"),
			})
		}
	}
	return p
}

// kinds reads a list of kinds; nil where the field is not written.
func kinds(spec *yamldoc.Value, key string) []argo.GroupKind {
	list := spec.At(key)
	if list == nil || list.Kind == yamldoc.Null {
		return nil
	}
	all := []argo.GroupKind{}
	for _, item := range list.Items {
		all = append(all, argo.GroupKind{Group: item.TextAt("group"), Kind: item.TextAt("kind")})
	}
	return all
}

// finishSetup sorts what was noted and adds what nothing of the environment
// applies, but the repository holds.
func (w *walk) finishSetup(ctx context.Context, components []model.Component) {
	r := w.repository
	s := &w.setup
	for _, d := range r.projects {
		named := func(p argo.Project) bool { return p.Name == d.name() }
		// Of several with one name it is not known which is there.
		others := slices.ContainsFunc(r.projects, func(o document) bool { return o.name() == d.name() && o.position() != d.position() })
		if !others && w.environment.Program.File == "" && !slices.ContainsFunc(s.Projects, named) {
			p := project(d)
			p.Unapplied = !r.isHanded(ctx, d.position().File)
			s.Projects = append(s.Projects, p)
		}
	}
	s.Settings = r.installed(*s)
	for _, m := range r.misplaced {
		if r.isOrdering(m) || !isApplied(*s, m) {
			continue
		}
		for _, c := range components {
			if !m.Template && m.Object.Group != "argoproj.io" && holds(c, m.Position.File) {
				m.Component = c.Name
				break
			}
		}
		s.Misplaced = append(s.Misplaced, m)
	}
	byPosition := func(a, b finding.Position) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	}
	slices.SortStableFunc(s.Applications, func(a, b argo.Application) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), byPosition(a.Position, b.Position))
	})
	slices.SortStableFunc(s.ApplicationSets, func(a, b argo.ApplicationSet) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), byPosition(a.Position, b.Position))
	})
	slices.SortStableFunc(s.Projects, func(a, b argo.Project) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), byPosition(a.Position, b.Position))
	})
	slices.SortStableFunc(s.Misplaced, func(a, b argo.Misplaced) int { return byPosition(a.Position, b.Position) })
	for i := range s.ApplicationSets {
		slices.Sort(s.ApplicationSets[i].Applications)
	}
}

// Setup is what a repository says to Argo CD about components that were read
// elsewhere, from descriptors: the ApplicationSets that generate of their files,
// and what stands beside them. Components that an ApplicationSet generates get its
// name and their step. Of two sets that generate one Application, the one counts that applied
// names for the file, else the first in the order of the files.
func (r *Repository) Setup(ctx context.Context, components []model.Component, applied func(context.Context) (map[string]string, error)) (argo.Setup, []finding.Finding, error) {
	before := slices.Clone(r.findings)
	defer func() { r.findings = before }()
	w := r.walk(Environment{})
	byFile := map[string]int{}
	for i, c := range components {
		byFile[c.Position.File] = i
	}
	owners, err := r.owners(ctx, byFile, applied)
	if err != nil {
		return argo.Setup{}, nil, err
	}
	var found []finding.Finding
	var twice overlaps
	for _, set := range r.sets {
		steps := steps(set)
		generated := r.expand(ctx, set)
		i := w.recordSet("", set)
		for _, app := range generated {
			at, ok := byFile[app.generated.element.File]
			if !ok {
				continue
			}
			if owner := owners[app.name()]; owner.position() != set.position() {
				twice.add(owner, set, app.name())
				continue
			}
			index := w.recordApplication("", app)
			w.setup.Applications[index].Component = components[at].Name
			w.setup.ApplicationSets[i].Applications = append(w.setup.ApplicationSets[i].Applications, app.name())
			components[at].Set, components[at].Step = set.name(), stepOf(steps, labels(app))
			withPolicy(&components[at], app)
		}
		if len(w.setup.ApplicationSets[i].Applications) > 0 {
			found = append(found, noList(set)...)
		}
	}
	w.finishSetup(ctx, components)
	return w.setup, append(found, twice.findings()...), ctx.Err()
}

// withPolicy gives a component the sync policy and ignoreDifferences of the Application that a set
// makes of its descriptor, and adds its sync options. What the Application says is what Argo CD
// goes by.
func withPolicy(c *model.Component, app document) {
	var told yamldoc.Problems // by the set
	if spec := app.value.At("spec"); spec != nil && spec.Kind == yamldoc.Map {
		takePolicy(c, yamldoc.Read(spec, "spec", &told))
	}
	options := strs(app.value.At("spec", "syncPolicy", "syncOptions"))
	if len(options) == 0 {
		return
	}
	said := map[string]bool{}
	for _, o := range options {
		said[optionName(o)] = true
	}
	own := slices.DeleteFunc(c.SyncOptions, func(o string) bool { return said[optionName(o)] })
	if len(own) == 0 {
		c.Fields["syncOptions"] = app.at("spec", "syncPolicy", "syncOptions")
	}
	c.SyncOptions = slices.Concat(own, options)
}

// optionName is the name of a sync option such as "CreateNamespace=true".
func optionName(option string) string {
	name, _, _ := strings.Cut(option, "=")
	return strings.TrimSpace(name)
}

// noList tells of sync options that a template writes as one text: a placeholder fills
// in texts only, and the API server refuses the whole set.
func noList(set document) []finding.Finding {
	keys := []string{"spec", "template", "spec", "syncPolicy", "syncOptions"}
	if v := set.value.At(keys...); v == nil || v.Kind != yamldoc.Scalar {
		return nil
	}
	f := newFinding(descriptor.RuleInvalid, finding.Error, set.at(keys...), set.name(), "%s of the ApplicationSet %s is a scalar, not a list: the API server refuses the set", strings.Join(keys, "."), set.name())
	f.Fix.Summary = "write a list here, or fill in those of each descriptor by a templatePatch, as ladder generate writes it"
	return []finding.Finding{f}
}
