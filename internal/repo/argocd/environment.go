package argocd

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// defaultName is the environment of a repository that tells none apart.
const defaultName = "default"

// Environment is one of the platforms that a repository describes.
type Environment struct {
	Name string
	// Overlay is the folder that yields the Applications, where the ladder file
	// names it; empty when roots do.
	Overlay string

	// Program is where a program writes the Application that takes its Applications; the zero
	// value where none does. What else the program makes is not known.
	Program finding.Position

	roots []entry
	// unapplied are Applications that belong to no root, idle charts that make none
	// as far as they can be rendered, with what is wrong.
	unapplied []document
	idle      []finding.Finding
	// key and value choose among what ApplicationSets generate; empty for all.
	key, value string
	// values are those of all environments that are chosen so.
	values map[string]bool
}

// takes reports whether the environment has a generated Application. One that
// says nothing of environments belongs to all, unless it goes to the cluster of one.
func (e Environment) takes(app document) bool {
	if e.key == "" {
		return true
	}
	value := environmentOf(app, e.key)
	if to := destination(app); value == "" && e.values[to] {
		value = to
	}
	return value == "" || value == e.value
}

// Environments finds the environments of a repository whose ladder file names
// none, sorted by name:
//
//   - roots in folders such as clusters/x, overlays/x or environments/x are those
//     of x, and so are Applications that take a folder called as a stage is;
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
	for _, u := range r.Unused() {
		// They are nobody's platform, so that nothing lacks them.
		told = append(told, newFinding(RuleNotRead, finding.Info, u.Position, "", "the Applications %s are not read (%s)", u.Where, path.Dir(u.Position.File)))
	}
	for _, e := range idle {
		told = append(told, e.idle...)
	}
	for _, dir := range r.chartsAway {
		told = append(told, newFinding(RuleNotRead, finding.Info, finding.Position{File: dir + "/Chart.yaml", Line: 1}, "", "the Applications of the chart %s, which is put away, are not read", dir))
	}
	if p := r.pattern(); p != nil {
		// The operator that installs it applies nothing else.
		for _, e := range groups {
			for _, root := range e.roots {
				if root.document.value != nil && root.chart.dir == "" {
					single = append(single, root.document)
				}
			}
		}
		groups = p.environments()
	}
	single, templates := r.withoutTemplates(ctx, roots, single)
	told = append(told, templates...)
	if len(groups) == 0 {
		single, r.leftOut = append(single, r.leftOut...), nil
		switch {
		case len(single) > 0:
			groups, single = r.groupSingle(single, 0), nil
		case len(idle) > 0:
			groups = idle
		default:
			return nil, nil
		}
	}
	programmed, single := r.applyInPrograms(ctx, single)
	if len(single) > 0 && len(groups) == 1 && !slices.ContainsFunc(groups[0].roots, func(e entry) bool { return !e.document.argo("ApplicationSet") && r.byTerraform(e) == "" }) {
		// Sets are applied by hand, and so are the Applications beside them.
		if beside := r.groupSingle(single, 0); len(beside) == 1 {
			groups[0].roots = append(groups[0].roots, beside[0].roots...)
		} else {
			groups = append(groups, beside...)
		}
		single = nil
	}
	single = r.applyByHand(ctx, groups, r.applyBeside(groups, single))
	apart, single, err := r.applyApart(ctx, groups, single)
	if err != nil {
		return nil, err
	}
	groups = slices.Concat(groups, apart, programmed)
	var all []Environment
	beside(groups, append(single, r.leftOut...))
	for _, e := range groups {
		e.idle = slices.Concat(e.idle, told)
		split, err := r.split(ctx, e)
		if err != nil {
			return nil, err
		}
		all = append(all, split...)
	}
	return unique(all), nil
}

// applyBeside gives the Applications that lie in the folder of an Application which is a
// root to its environment, and returns the others: who applies that by hand applies its
// neighbours too. Terraform names the files that it applies.
func (r *Repository) applyBeside(all []Environment, single []document) []document {
	return slices.DeleteFunc(single, func(app document) (applied bool) {
		for i := range all {
			inFolder := slices.ContainsFunc(all[i].roots, func(e entry) bool {
				d := e.document
				return d.value != nil && !d.rendered && d.isApplication() && path.Dir(d.position().File) == path.Dir(app.position().File) &&
					r.byTerraform(e) == "" && !r.neighbours[d.key()]
			})
			if inFolder && r.neighbours[app.key()] {
				all[i].roots = append(all[i].roots, entry{document: app})
				applied = true
			}
		}
		return applied
	})
}

// beside gives Applications that nothing applies to the environments whose roots
// lie nearest to them.
func beside(all []Environment, single []document) {
	for _, app := range single {
		for _, i := range nearest(all, app) {
			all[i].unapplied = append(all[i].unapplied, app)
		}
	}
}

// nearest are the environments of which a root lies nearest to an Application.
func nearest(all []Environment, app document) []int {
	near := make([]int, len(all))
	for i, e := range all {
		for _, root := range e.roots {
			near[i] = max(near[i], shared(root.file(), app.position().File))
		}
	}
	var found []int
	for i := range all {
		if near[i] == slices.Max(near) {
			found = append(found, i)
		}
	}
	return found
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
var folderOf = lazyregexp.New(`(?:^|/)(?:clusters?|overlays?|environments?|envs?|stages?)/([^/{}$<>*]+)(?:/|$)`)

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
	charts, idle, err := r.chartRoots(ctx, roots)
	if err != nil {
		return nil, nil, err
	}
	for _, root := range roots {
		if root.chart.dir != "" {
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
		// One cluster, and roots beside it: they belong together, unless they have Applications
		// of one name.
		clash, err := r.overlap(ctx, groups[names[0]], groups[names[1]])
		if err != nil {
			return nil, nil, err
		}
		if !clash {
			groups = map[string][]entry{"": slices.Concat(groups[names[0]], groups[names[1]])}
			names = []string{""}
		}
	}
	for _, name := range names {
		members := groups[name]
		slices.SortFunc(members, entry.compare)
		clash, err := r.overlap(ctx, each(members)...)
		if err != nil {
			return nil, nil, err
		}
		if parts := r.byParentFolder(members); parts != nil && (clash || haveOneName(members)) {
			for _, part := range parts {
				again, err := r.overlap(ctx, each(part.roots)...)
				if err != nil {
					return nil, nil, err
				}
				if again {
					all = append(all, r.apart(part.roots)...)
				} else {
					all = append(all, part)
				}
			}
			continue
		}
		if clash {
			all = append(all, r.apart(members)...)
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

// byParentFolder sorts roots by the folders that hold alternatives, where one of these holds
// several roots; it is nil where none does.
func (r *Repository) byParentFolder(roots []entry) []Environment {
	var documents []document
	for _, root := range roots {
		if root.folder != "" || root.chart.dir != "" || root.byHand || r.byTerraform(root) != "" {
			return nil
		}
		documents = append(documents, root.document)
	}
	parts := r.groupSingle(documents, 0)
	if len(parts) < 2 || len(parts) == len(roots) {
		return nil
	}
	return parts
}

// haveOneName reports whether two sets of several files have one name: a cluster has one of
// them.
func haveOneName(roots []entry) bool {
	seen := map[[2]string]bool{}
	for _, root := range roots {
		if d := root.document; d.value != nil && d.argo("ApplicationSet") {
			key := [2]string{d.value.TextAt("metadata", "namespace"), d.name()}
			if seen[key] {
				return true
			}
			seen[key] = true
		}
	}
	return false
}

// apart makes an environment of each root; those that one folder of Terraform applies
// stay together.
func (r *Repository) apart(roots []entry) []Environment {
	var all []Environment
	of := map[string]int{}
	for _, root := range roots {
		folder := r.byTerraform(root)
		if i, ok := of[folder]; ok && folder != "" {
			all[i].roots = append(all[i].roots, root)
			continue
		}
		of[folder] = len(all)
		all = append(all, Environment{Name: r.rootName(root), roots: []entry{root}})
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
				if x := path.Base(dir); slices.Contains(stages, x) {
					return x
				}
			}
		}
	}
	return folderEnvironment(path.Dir(root.document.position().File))
}

// stages are what folders of environments are called, whatever lies around them.
var stages = []string{"prod", "production", "preprod", "stage", "staging", "uat", "qa", "test", "dev", "development", "local", "sandbox"}

// overlap reports whether two groups of roots apply Applications of one name.
func (r *Repository) overlap(ctx context.Context, groups ...[]entry) (bool, error) {
	seen := map[string]document{}
	for _, roots := range groups {
		own := map[string]document{}
		for _, root := range roots {
			names, err := r.names(ctx, root)
			if err != nil {
				return false, err
			}
			maps.Copy(own, names)
		}
		for name := range own {
			if _, again := seen[name]; again {
				return true, nil
			}
		}
		maps.Copy(seen, own)
	}
	return false, nil
}

// each makes a group of each root.
func each(roots []entry) (all [][]entry) {
	for _, root := range roots {
		all = append(all, []entry{root})
	}
	return all
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

// inName makes a path or the value of a parameter part of a name.
func inName(text string) string { return strings.NewReplacer("/", "-", "\\", "-").Replace(text) }

// joined puts a dash between two names; the second may be empty.
func joined(name, part string) string { return strings.TrimSuffix(name+"-"+part, "-") }

// tellApart is the part of each path that tells it from the others: the folders at
// the first place where all differ. It is nil where no place does.
func tellApart(paths []string) []string {
	var split [][]string
	shortest := -1
	for _, p := range paths {
		folders := strings.Split(path.Dir(p), "/")
		split = append(split, folders)
		if shortest < 0 || len(folders) < shortest {
			shortest = len(folders)
		}
	}
	for at := range max(shortest, 0) {
		var parts []string
		seen := map[string]bool{}
		for _, folders := range split {
			parts = append(parts, folders[at])
			seen[folders[at]] = true
		}
		if len(seen) == len(paths) && !seen["."] {
			return parts
		}
	}
	return nil
}

// unique gives environments of the same name the names of their folders
// instead, and sorts them.
func unique(all []Environment) []Environment {
	same := map[string][]int{}
	for i, e := range all {
		if len(e.roots) > 0 {
			same[e.Name] = append(same[e.Name], i)
		}
	}
	told := map[int]string{}
	for _, group := range same {
		var paths []string
		for _, i := range group {
			if root := all[i].roots[0]; root.folder == "" && root.chart.dir == "" && all[i].value == "" {
				paths = append(paths, root.file())
			}
		}
		if len(group) > 1 && len(paths) == len(group) {
			for n, part := range tellApart(paths) {
				told[group[n]] = part
			}
		}
	}
	for i, e := range all {
		if len(same[e.Name]) < 2 || len(e.roots) == 0 {
			continue
		}
		if told[i] != "" {
			all[i].Name = told[i]
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
