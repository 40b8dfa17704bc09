package argocd

import (
	"cmp"
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/finding"
)

// defaultName is the environment of a repository that tells none apart.
const defaultName = "default"

// Environment is one of the platforms that a repository describes.
type Environment struct {
	Name string
	// Overlay is the folder that yields the Applications, where the ladder file
	// names it; empty when roots do.
	Overlay string

	roots []entry
	// unapplied are Applications that belong to no root, idle charts that make none
	// as far as they can be rendered, with what is wrong.
	unapplied []document
	idle      []finding.Finding
	// key and value choose among what ApplicationSets generate; empty for all.
	key, value string
}

// takes reports whether the environment has a generated Application. One that
// says nothing of environments belongs to all.
func (e Environment) takes(app document) bool {
	if e.key == "" {
		return true
	}
	value := environmentOf(app, e.key)
	return value == "" || value == e.value
}

// Environments finds the environments of a repository whose ladder file names
// none, sorted by name:
//
//   - roots in folders such as clusters/x, overlays/x or environments/x are those
//     of x;
//   - of the others, and within x, every root is one when roots are alternatives,
//     that is when two of them apply Applications of the same name; else they
//     belong together;
//   - a chart that nothing applies and that makes Applications has one for each of
//     its several layers of values;
//   - where ApplicationSets generate for several environments or clusters, each is
//     one.
func (r *Repository) Environments(ctx context.Context) ([]Environment, error) {
	roots, single, err := r.findRoots(ctx)
	if err != nil {
		return nil, err
	}
	groups, idle, err := r.group(ctx, roots)
	if err != nil {
		return nil, err
	}
	var told []finding.Finding
	for _, e := range idle {
		told = append(told, e.idle...)
	}
	if len(groups) == 0 {
		switch {
		case len(single) > 0:
			groups, single = r.groupSingle(single, 0), nil
		case len(idle) > 0:
			groups = idle
		default:
			return nil, nil
		}
	}
	if len(single) > 0 && len(groups) == 1 && !slices.ContainsFunc(groups[0].roots, func(e entry) bool { return !e.document.argo("ApplicationSet") }) {
		// Sets are applied by hand, and so are the Applications beside them.
		if beside := r.groupSingle(single, 0); len(beside) == 1 {
			groups[0].roots = append(groups[0].roots, beside[0].roots...)
		} else {
			groups = append(groups, beside...)
		}
		single = nil
	}
	var all []Environment
	beside(groups, single)
	for _, e := range groups {
		e.idle = told
		split, err := r.split(ctx, e)
		if err != nil {
			return nil, err
		}
		all = append(all, split...)
	}
	return unique(all), nil
}

// beside gives Applications that nothing applies to the environments whose roots
// lie nearest to them.
func beside(all []Environment, single []document) {
	for _, app := range single {
		near := make([]int, len(all))
		for i, e := range all {
			for _, root := range e.roots {
				near[i] = max(near[i], shared(root.file(), app.position().File))
			}
		}
		for i := range all {
			if near[i] == slices.Max(near) {
				all[i].unapplied = append(all[i].unapplied, app)
			}
		}
	}
}

// shared counts the folders that two paths have in common.
func shared(a, b string) int {
	one, other := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < len(one) && n < len(other) && one[n] == other[n] {
		n++
	}
	return n
}

// folderOf matches a path that says to which environment it belongs.
var folderOf = regexp.MustCompile(`(?:^|/)(?:clusters?|overlays?|environments?|envs?|stages?)/([^/{}$<>*]+)(?:/|$)`)

func folderEnvironment(p string) string {
	m := folderOf.FindStringSubmatch(p)
	if m == nil || strings.Contains(m[1], ".") {
		return ""
	}
	return m[1]
}

// group sorts roots into environments.
func (r *Repository) group(ctx context.Context, roots []entry) (all, idle []Environment, err error) {
	groups := map[string][]entry{}
	var charts []Environment
	for _, root := range roots {
		if root.chart.dir != "" {
			live, dead, err := r.chartEnvironments(ctx, root)
			if err != nil {
				return nil, nil, err
			}
			charts, idle = append(charts, live...), append(idle, dead...)
			continue
		}
		x := r.entryEnvironment(root)
		groups[x] = append(groups[x], root)
	}
	names := make([]string, 0, len(groups))
	for name := range groups {
		names = append(names, name)
	}
	slices.Sort(names)
	if named := len(names) - map[bool]int{true: 1}[len(groups[""]) > 0]; named == 1 && len(names) > 1 {
		// One cluster, and roots beside it: they belong together.
		groups = map[string][]entry{"": slices.Concat(groups[names[0]], groups[names[1]])}
		names = []string{""}
	}
	for _, name := range names {
		members := groups[name]
		slices.SortFunc(members, entry.compare)
		clash, err := r.overlap(ctx, members)
		if err != nil {
			return nil, nil, err
		}
		if clash {
			for _, root := range members {
				all = append(all, Environment{Name: r.rootName(root), roots: []entry{root}})
			}
			continue
		}
		called := name
		if len(names) == 1 {
			called = ""
			if len(members) == 1 && members[0].folder != "" && members[0].folder != "." {
				called = path.Base(members[0].folder)
			}
		}
		all = append(all, Environment{Name: cmp.Or(called, defaultName), roots: members})
	}
	if len(all) == 0 {
		return charts, idle, nil
	}
	// A chart beside other roots is one of them, unless its values tell several
	// apart.
	if len(charts) == 1 && len(all) == 1 {
		all[0].roots = append(all[0].roots, charts[0].roots...)
		return all, idle, nil
	}
	return append(all, charts...), idle, nil
}

// groupSingle sorts Applications that nothing applies, and that apply nothing.
// They belong together unless two of one name lie in different folders: nobody
// applies both, so each of the folders that part them is an environment.
func (r *Repository) groupSingle(single []document, depth int) []Environment {
	named := map[string]string{}
	clash := false
	for _, app := range single {
		dir := path.Dir(app.position().File)
		if other, ok := named[app.name()]; ok && other != dir {
			clash = true
		}
		named[app.name()] = dir
	}
	if !clash {
		e := Environment{Name: defaultName}
		for _, app := range single {
			e.roots = append(e.roots, entry{document: app})
		}
		return []Environment{e}
	}
	parts := map[string][]document{}
	for _, app := range single {
		segments := strings.Split(path.Dir(app.position().File), "/")
		part := strings.Join(segments[:min(depth+1, len(segments))], "/")
		parts[part] = append(parts[part], app)
	}
	var all []Environment
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		for _, e := range r.groupSingle(parts[part], depth+1) {
			if e.Name == defaultName && part != "." {
				e.Name = cmp.Or(folderEnvironment(part), strings.ReplaceAll(part, "/", "-"))
			}
			all = append(all, e)
		}
	}
	return all
}

// entryEnvironment is the environment that the folders of a root name.
func (r *Repository) entryEnvironment(root entry) string {
	if root.folder != "" {
		return folderEnvironment(root.folder)
	}
	if root.document.isApplication() {
		for _, s := range root.document.sources() {
			if dir, ok := r.local(s); ok {
				if x := folderEnvironment(dir); x != "" {
					return x
				}
			}
		}
	}
	return folderEnvironment(path.Dir(root.document.position().File))
}

// overlap reports whether two roots apply Applications of one name.
func (r *Repository) overlap(ctx context.Context, roots []entry) (bool, error) {
	seen := map[string]bool{}
	for _, root := range roots {
		names, err := r.names(ctx, root)
		if err != nil {
			return false, err
		}
		for name := range names {
			if seen[name] {
				return true, nil
			}
		}
		for name := range names {
			seen[name] = true
		}
	}
	return false, nil
}

// rootName names the environment of a root: the last folder of its source.
func (r *Repository) rootName(root entry) string {
	switch {
	case root.folder == ".":
		return defaultName
	case root.folder != "":
		return path.Base(root.folder)
	case root.document.argo("ApplicationSet"):
		return root.document.name()
	}
	for _, s := range root.document.sources() {
		if dir, ok := r.local(s); ok && dir != "." {
			return path.Base(dir)
		}
	}
	return root.document.name()
}

// valuesLayer matches the value files of a chart that are made for one
// environment.
var valuesLayer = regexp.MustCompile(`^(?:values[-._]([\w-]+)|([\w-]+)[-._]values|(?:values|envs?|environments)/([\w-]+))\.ya?ml$`)

// chartEnvironments are those of a chart that nothing applies: one for each of
// several layers of values, else one. Those that make no Application are idle.
func (r *Repository) chartEnvironments(ctx context.Context, root entry) (live, idle []Environment, err error) {
	base := path.Base(root.chart.dir)
	if root.chart.dir == "." {
		base = defaultName
	}
	layers := map[string]string{}
	for _, file := range r.within(root.chart.dir) {
		rel, _ := below(root.chart.dir, file)
		if m := valuesLayer.FindStringSubmatch(rel); m != nil {
			layers[cmp.Or(m[1], m[2], m[3])] = file
		}
	}
	if len(layers) < 2 {
		layers = map[string]string{defaultName: ""}
	}
	for _, name := range slices.Sorted(maps.Keys(layers)) {
		chart := rootChart{dir: root.chart.dir, values: layers[name]}
		e := Environment{Name: name, roots: []entry{{document: chart.document(base, name), chart: chart}}}
		before := len(r.findings)
		y, err := r.yieldApplication(ctx, e.roots[0].document)
		e.idle = slices.Clone(r.findings[before:])
		r.findings = r.findings[:before]
		switch {
		case err != nil:
			return nil, nil, err
		case y.applies():
			e.idle = nil
			live = append(live, e)
		default:
			idle = append(idle, e)
		}
	}
	return live, idle, nil
}

// environmentKeys are the parameters by which ApplicationSets tell environments
// apart, those that say most first. The last is the folder that a git generator
// found.
func environmentKeys() []string {
	return []string{"environment", "env", "stage", "cluster", "clusterName", "cluster.name", "name", folderKey}
}

const folderKey = "folder"

// environmentOf is what a generated Application says of its environment by one
// parameter.
func environmentOf(app document, key string) string {
	g := app.generated
	switch key {
	case folderKey:
		if about, ok := g.parameters["path"].(map[string]any); ok {
			dir, _ := about["path"].(string)
			return folderEnvironment(dir)
		}
		return folderEnvironment(g.parameter("path"))
	case "name":
		// Only the name of a cluster says where an Application goes.
		if g.parameter("server") == "" || g.parameter("name") != destination(app) && g.parameter("server") != app.value.TextAt("spec", "destination", "server") {
			return ""
		}
		return g.parameter("name")
	case "cluster.name":
		if nested, ok := g.parameters["cluster"].(map[string]any); ok {
			text, _ := nested["name"].(string)
			return text
		}
		return g.parameter(key)
	default:
		for _, name := range []string{key, "values." + key, "metadata.labels." + key} {
			if value := g.parameter(name); value != "" {
				return value
			}
		}
		if nested, ok := g.parameters["values"].(map[string]any); ok {
			text, _ := nested[key].(string)
			return text
		}
		return ""
	}
}

// split makes an environment for each that ApplicationSets generate for.
func (r *Repository) split(ctx context.Context, e Environment) ([]Environment, error) {
	generated, err := r.generatedBy(ctx, e)
	if err != nil {
		return nil, err
	}
	for _, key := range environmentKeys() {
		values := map[string]bool{}
		for _, app := range generated {
			if value := environmentOf(app, key); value != "" {
				values[value] = true
			}
		}
		if len(values) < 2 || !alternatives(generated, key) {
			continue
		}
		var all []Environment
		for _, value := range slices.Sorted(maps.Keys(values)) {
			one := e
			one.key, one.value = key, value
			one.Name = inName(value)
			if e.Name != defaultName {
				one.Name = e.Name + "-" + one.Name
			}
			all = append(all, one)
		}
		return all, nil
	}
	return []Environment{e}, nil
}

// alternatives reports whether the values of a parameter tell environments apart,
// and not groups of one platform, as {cluster: core} and {cluster: apps} may. What
// is called an environment is one. Others are where their Applications go to
// several clusters, or where two have the same Application but for the value in
// its name: nobody has both in one platform.
func alternatives(generated []document, key string) bool {
	if key == "environment" || key == "env" || key == folderKey {
		return true
	}
	goes, first := "", true
	owner := map[string]string{}
	for _, app := range generated {
		value := environmentOf(app, key)
		if value == "" {
			continue
		}
		to := destination(app)
		if !first && to != goes {
			return true
		}
		goes, first = to, false
		base := strings.Trim(strings.ReplaceAll(app.name(), value, ""), "-._")
		if other, ok := owner[base]; ok && other != value && base != "" {
			return true
		}
		owner[base] = value
	}
	return false
}

// inName makes a path or the value of a parameter part of a name.
func inName(text string) string { return strings.NewReplacer("/", "-", "\\", "-").Replace(text) }

// joined puts a dash between two names; the second may be empty.
func joined(name, part string) string { return strings.TrimSuffix(name+"-"+part, "-") }

// unique gives environments of the same name the names of their folders
// instead, and sorts them.
func unique(all []Environment) []Environment {
	count := map[string]int{}
	for _, e := range all {
		count[e.Name]++
	}
	for i, e := range all {
		if count[e.Name] < 2 || len(e.roots) == 0 {
			continue
		}
		switch root := e.roots[0]; {
		case root.folder != "":
			all[i].Name = joined(inName(root.folder), inName(e.value))
		case root.chart.dir != "":
			all[i].Name = strings.Trim(strings.ReplaceAll(root.chart.dir, "/", "-")+"-"+e.Name, "-.")
		default:
			all[i].Name = joined(root.document.name(), inName(e.value))
		}
	}
	slices.SortStableFunc(all, func(a, b Environment) int { return strings.Compare(a.Name, b.Name) })
	// What still has one name is told apart by the file of its root.
	seen := map[string]bool{}
	for i := range all {
		if seen[all[i].Name] && len(all[i].roots) > 0 {
			file := all[i].roots[0].file()
			all[i].Name = strings.ReplaceAll(strings.TrimSuffix(file, path.Ext(file)), "/", "-")
		}
		for seen[all[i].Name] {
			all[i].Name += "-2"
		}
		seen[all[i].Name] = true
	}
	slices.SortStableFunc(all, func(a, b Environment) int { return strings.Compare(a.Name, b.Name) })
	return all
}
