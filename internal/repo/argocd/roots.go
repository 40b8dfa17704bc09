package argocd

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// entry is one thing that somebody applies by hand: an Application, an
// ApplicationSet, a folder, or a chart.
type entry struct {
	document document
	folder   string
	chart    rootChart
	// byHand is set where a command of the repository applies it by itself.
	byHand bool
}

// file is where the entry is.
func (e entry) file() string {
	switch {
	case e.folder != "":
		return e.folder
	case e.chart.dir != "":
		return e.chart.dir
	default:
		return e.document.written.Position.File
	}
}

func (e entry) compare(o entry) int {
	line := func(e entry) int {
		if e.document.written == nil {
			return 0
		}
		return e.document.written.Position.Line
	}
	return cmp.Or(strings.Compare(e.file(), o.file()), cmp.Compare(line(e), line(o)))
}

// key tells objects apart: written ones by their place, others by themselves.
func (d document) key() string {
	if d.rendered || d.generated != nil {
		return fmt.Sprintf("%p", d.value)
	}
	return d.kind() + " " + d.written.Position.String()
}

// findRoots finds what nothing in the repository applies: roots, which apply
// Applications, and single Applications, which do not. Where the user names the
// roots, these are all.
func (r *Repository) findRoots(ctx context.Context) (roots []entry, single []document, err error) {
	if len(r.opts.Roots) > 0 {
		roots, err = r.givenRoots()
		return roots, nil, err
	}
	// Looking for roots reads every source once more than reading an environment
	// does: what is left out is reported then.
	before := len(r.findings)
	defer func() { r.findings = r.findings[:before] }()

	r.leftOut = nil
	g := applied{
		repository: r, below: map[string][]document{}, folders: map[string]bool{},
		reached: map[string]bool{}, looked: map[*yamldoc.Value]bool{}, failed: map[string]bool{},
	}
	all := slices.Concat(r.sets, r.applications)
	for _, d := range all {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err := g.look(ctx, d, 0); err != nil {
			return nil, nil, err
		}
	}
	overlays, left := r.choices(ctx, g.withoutDry(ctx, all, r.overlays()))
	// A kustomization of which Applications take parts gathers them for other
	// purposes: applied as well, it would own everything twice.
	gathers := func(dir string) bool {
		return slices.ContainsFunc(r.closure(dir), func(p string) bool { return g.folders[p] })
	}
	taken := r.appliedByOthers(ctx, overlays)
	for _, dir := range overlays {
		if !gathers(dir) {
			if !taken[dir] && g.besideTaken(ctx, dir) {
				left = append(left, dir)
				continue
			}
			if !taken[dir] {
				roots = append(roots, entry{folder: dir})
			}
			for _, p := range r.closure(dir) {
				for _, d := range r.files[p] {
					g.reached[d.key()] = true
					g.reach(d, map[string]bool{})
				}
			}
		}
	}
	incoming := map[string]bool{}
	for _, below := range g.below {
		for _, to := range below {
			incoming[to.key()] = true
		}
	}
	// What an overlay in use has as well is applied, and so is what an Application takes.
	for _, dir := range left {
		if gathers(dir) {
			continue
		}
		for _, p := range r.closure(dir) {
			for _, d := range r.files[p] {
				if d.applies() && !g.reached[d.key()] && !incoming[d.key()] {
					g.reached[d.key()] = true
					r.leftOut = append(r.leftOut, d)
				}
			}
		}
	}
	notTaken := g.notTaken(ctx, all, overlays)
	add := func(d document) {
		if r.isFilledIn(d) || r.isPassedThrough(d) {
			return
		}
		if d.exported() && !r.isHanded(ctx, d.position().File) || notTaken(d) {
			r.leftOut = append(r.leftOut, d)
			return
		}
		g.reach(d, map[string]bool{})
		switch {
		case g.reached[d.key()] && !g.own(d):
		case d.argo("ApplicationSet") || g.failed[d.key()] || slices.ContainsFunc(g.below[d.key()], document.applies):
			roots = append(roots, entry{document: d})
		default:
			single = append(single, d)
		}
	}
	for _, d := range all {
		if !incoming[d.key()] && !g.reached[d.key()] {
			add(d)
		}
	}
	// What is left applies itself, over one step or more.
	for _, d := range g.first(ctx, all, overlays) {
		if !g.reached[d.key()] && incoming[d.key()] && g.own(d) {
			add(d)
			g.reached[d.key()] = true
		}
	}
	roots, single = g.alternatives(all, roots, single)
	roots, others := r.withoutSame(r.withoutTerraformed(ctx, roots))
	r.leftOut = append(r.leftOut, others...)
	roots, again := g.again(all, roots)
	r.leftOut = append(r.leftOut, again...)
	leftOut := func(d document) bool {
		left := slices.ContainsFunc(g.directories, func(x directory) bool { return x.leavesOut(d.position().File) })
		if left {
			r.leftOut = append(r.leftOut, d)
		}
		return left
	}
	single = slices.DeleteFunc(single, func(d document) bool { return !r.isHanded(ctx, d.position().File) && leftOut(d) })
	roots = slices.DeleteFunc(roots, func(e entry) bool {
		d := e.document
		return d.value != nil && (d.argo("ApplicationSet") || g.leavesOutRoot(d) && !r.isHanded(ctx, d.position().File)) && leftOut(d)
	})
	if len(roots) > 0 {
		single = slices.DeleteFunc(single, func(d document) bool {
			applied := r.byTerraform(entry{document: d}) != ""
			if applied {
				roots = append(roots, entry{document: d})
			}
			return applied
		})
		names := g.names(all)
		passedOver := g.passedOver(ctx, overlays)
		// One of the name of an applied one is an alternative to it.
		single = slices.DeleteFunc(single, func(d document) bool {
			left := names[d.name()] || passedOver(d)
			if left {
				r.leftOut = append(r.leftOut, d)
			}
			return left
		})
		r.neighbours = g.neighbours(single)
	}
	r.leftOut = g.withBelow(r.leftOut)
	r.unused = slices.DeleteFunc(slices.Clone(r.aside), func(d document) bool { return !d.applies() || g.reached[d.key()] })
	for i, e := range roots {
		// Who applies an overlay with an Application that takes it applies that.
		if documents, err := r.build(ctx, e.folder, nil); e.folder != "" && err == nil {
			if self, ok := r.installs(documents, e.folder); ok {
				roots[i] = entry{document: self}
			}
		}
	}
	roots = r.withoutExamples(ctx, append(r.withoutCopies(g.withoutTaken(roots)), r.rootCharts(g.folders)...))
	r.byHandFolders = map[string]bool{}
	for _, e := range roots {
		r.byHandFolders[e.folder] = e.folder != ""
	}
	slices.SortStableFunc(roots, entry.compare)
	slices.SortStableFunc(single, func(a, b document) int {
		return cmp.Or(strings.Compare(a.position().File, b.position().File), cmp.Compare(a.position().Line, b.position().Line))
	})
	return roots, single, nil
}

// first puts what may begin a circle into order: what commands of the repository apply
// first, then what a kustomization has that no source takes, which people apply to begin.
func (g *applied) first(ctx context.Context, all []document, overlays []string) []document {
	handed := map[string]int{}
	for _, dir := range overlays {
		if g.folders[dir] {
			continue
		}
		for _, p := range g.repository.closure(dir) {
			for _, d := range g.repository.files[p] {
				handed[d.key()] = 1
			}
		}
	}
	for _, d := range all {
		if g.repository.isHanded(ctx, d.position().File) {
			handed[d.key()] = 2
		}
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b document) int {
		return cmp.Compare(handed[b.key()], handed[a.key()])
	})
	return all
}

// byTerraform is the folder of Terraform that applies a root; empty where none is known
// to.
func (r *Repository) byTerraform(e entry) string {
	if e.document.value == nil {
		return ""
	}
	return r.terraformed[e.document.position().File]
}

// applied is who applies whom.
type applied struct {
	repository *Repository
	// below are the objects that one applies, directly or through what it
	// generates, by its key.
	below map[string][]document
	// folders are those that some source takes.
	folders map[string]bool
	// reached are the keys of what a root reaches.
	reached map[string]bool
	looked  map[*yamldoc.Value]bool
	// failed are the keys of those whose sources apply something that could not be
	// read.
	failed map[string]bool
	// directories are what sources read as plain YAML, as far as they say so.
	directories []directory
}

// directory is a folder with the directory section of a source that reads it.
type directory struct {
	folder  string
	section *yamldoc.Value
	by      string // the key of the Application that it is a source of
}

// leavesOut reports whether include or exclude keeps a file of the folder from being
// applied.
func (d directory) leavesOut(file string) bool {
	rel, inside := below(d.folder, file)
	return inside && (boolAt(d.section, "recurse") || !strings.Contains(rel, "/")) &&
		!taken(d.section.TextAt("include"), d.section.TextAt("exclude"), rel)
}

// leavesOutRoot reports whether an Application that somebody else's root is leaves a file out of its
// folder: that of a root may be left out by itself, or by what it applies.
func (g *applied) leavesOutRoot(d document) bool {
	own := map[string]bool{}
	var reach func(key string)
	reach = func(key string) {
		if own[key] {
			return
		}
		own[key] = true
		for _, to := range g.below[key] {
			reach(to.key())
		}
	}
	reach(d.key())
	return slices.ContainsFunc(g.directories, func(x directory) bool { return !own[x.by] && x.leavesOut(d.position().File) })
}

// names are those of the Applications that a root reaches.
func (g *applied) names(all []document) map[string]bool {
	names := map[string]bool{}
	for _, d := range all {
		names[d.name()] = names[d.name()] || g.reached[d.key()]
	}
	return names
}

// neighbours are the Applications that nothing applies, in files that no kustomization
// decides on.
func (g *applied) neighbours(single []document) map[string]bool {
	r := g.repository
	free := map[string]bool{}
	for _, d := range single {
		file := d.position().File
		free[d.key()] = len(r.commented[file]) == 0 && !r.isKustomization(path.Dir(file))
	}
	return free
}

// look notes what an Application or ApplicationSet applies, and what that applies
// where it is not written anywhere itself.
func (g *applied) look(ctx context.Context, d document, depth int) error {
	if g.looked[d.value] || depth > MaxDepth {
		return nil
	}
	g.looked[d.value] = true
	r := g.repository
	var below []document
	before := len(r.findings)
	if d.argo("ApplicationSet") {
		below = r.expand(ctx, d)
	} else {
		for _, s := range d.sources() {
			if dir, ok := r.local(s); ok {
				g.folders[dir] = true
				g.directories = append(g.directories, directory{dir, s.value.At("directory"), d.key()})
			}
		}
		y, err := r.yieldApplication(ctx, d)
		switch {
		case err == nil:
			below = y.documents
			for _, folder := range y.folders {
				g.folders[folder] = true
			}
			g.failed[d.key()] = len(r.findings) > before
			g.rename(d, below)
		case len(repofs.InputErrors(err)) > 0:
			// One broken overlay must not hide the others: it is told when its
			// environment is read.
			below = r.writtenBelow(d)
			g.failed[d.key()] = true
		default:
			return err
		}
	}
	g.below[d.key()] = append(g.below[d.key()], below...)
	for _, to := range below {
		if !to.applies() {
			continue
		}
		if err := g.look(ctx, to, depth+1); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// rename marks what the kustomizations of an Application are made of and do not yield
// under its name: they rename it, or leave it out, and nobody applies it as it is.
func (g *applied) rename(app document, yielded []document) {
	kept := map[string]bool{app.key(): true}
	for _, d := range yielded {
		kept[d.key()] = true
	}
	for _, s := range app.sources() {
		dir, ok := g.repository.local(s)
		if !ok || !g.repository.isKustomization(dir) {
			continue
		}
		for _, p := range g.repository.closure(dir) {
			for _, d := range g.repository.files[p] {
				if d.argo("ApplicationSet") && !kept[d.key()] {
					g.reached[d.key()] = true
				}
			}
		}
	}
}

// reach marks everything below an object.
func (g *applied) reach(d document, seen map[string]bool) {
	if seen[d.key()] {
		return
	}
	seen[d.key()] = true
	for _, to := range g.below[d.key()] {
		g.reached[to.key()] = true
		g.reach(to, seen)
	}
}

// own reports whether what reaches an object is only itself.
func (g *applied) own(d document) bool {
	seen := map[string]bool{}
	g.collect(d, seen)
	return seen[d.key()]
}

func (g *applied) collect(d document, seen map[string]bool) {
	for _, to := range g.below[d.key()] {
		if key := to.key(); !seen[key] {
			seen[key] = true
			g.collect(to, seen)
		}
	}
}

// writtenBelow lists the objects in the files of the kustomizations of an
// Application, as they are written.
func (r *Repository) writtenBelow(app document) []document {
	var documents []document
	for _, s := range app.sources() {
		dir, ok := r.local(s)
		if !ok {
			continue
		}
		for _, p := range r.closure(dir) {
			documents = append(documents, r.files[p]...)
		}
	}
	return slices.DeleteFunc(documents, func(d document) bool { return d.isApplication() && d.name() == app.name() })
}

// givenRoots are the roots that the user names: files and folders.
func (r *Repository) givenRoots() ([]entry, error) {
	var all []entry
	for _, written := range r.opts.Roots {
		p := path.Clean(written)
		if _, err := r.tree.Resolve(p, finding.Position{}); err != nil {
			return nil, err
		}
		switch {
		case r.tree.IsFile(p):
			found := false
			for _, d := range r.files[p] {
				if d.applies() {
					all, found = append(all, entry{document: d}), true
				}
			}
			if !found {
				return nil, &repofs.InputError{Position: finding.Position{File: p}, Message: "the root holds no Application", Hint: "name a file with an Application or ApplicationSet in it"}
			}
		case r.tree.IsDir(p) && r.charts[p]:
			all = append(all, entry{chart: rootChart{dir: p}})
		case r.tree.IsDir(p):
			all = append(all, entry{folder: p})
		default:
			return nil, &repofs.InputError{Message: fmt.Sprintf("there is no root %s", written), Hint: "roots are files or folders, relative to where the command runs or to the root of the platform"}
		}
	}
	return all, nil
}

// generatedBy are the Applications that ApplicationSets of an environment
// generate, at any depth. What cannot be read is told when the environment is.
func (r *Repository) generatedBy(ctx context.Context, e Environment) ([]document, error) {
	before := len(r.findings)
	defer func() { r.findings = r.findings[:before] }()
	w := r.walk(e)
	if err := w.roots(ctx); err != nil && len(repofs.InputErrors(err)) == 0 {
		return nil, err
	}
	return w.generated, nil
}
