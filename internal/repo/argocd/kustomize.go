package argocd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	rendersource "github.com/rollout-ladder/ladder/internal/repo/render/source"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// madeAnnotation names the made file that an object comes from. Kustomize's own
// note of the origin, buildMetadata: originAnnotations, makes it write the history
// of every resource anew at each of its transformations: building hundreds of
// ApplicationSets with dozens of patches takes minutes then.
const madeAnnotation = "ladder.rollout-ladder.dev/made"

// kustomizations reads kustomizations of the repository.
type kustomizations struct {
	repository *Repository
	closures   map[string][]string
	parts      map[string]parts
	built      map[string]built
	// needs are what each of them needs of kustomize, by its folder.
	needs map[string][]argo.BuildNeed
	// inflating are the kustomizations whose charts make Applications, inflates
	// these charts.
	inflating, inflates map[string]bool
}

// built is what a kustomization yields with options; the same one is asked for
// while the roots are found and again when an environment is read.
type built struct {
	documents []document
	leftOut   []leftOut
	err       error
}

// kustomizationNames are those that kustomize knows.
func kustomizationNames() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

func isKustomizationName(name string) bool {
	return slices.Contains(kustomizationNames(), name)
}

func kustomizationFile(tree *repofs.Tree, dir string) string {
	for _, name := range kustomizationNames() {
		if file := path.Join(dir, name); tree.IsFile(file) {
			return file
		}
	}
	return ""
}

func (r *Repository) isKustomization(dir string) bool {
	return descriptor.IsKustomization(r.tree.IsFile, dir)
}

// closure lists the files and folders that a kustomization consists of, as far
// as they are in the repository, sorted; the folders are kustomizations.
func (k *kustomizations) closure(dir string) []string {
	if c, ok := k.closures[dir]; ok {
		return c
	}
	seen := map[string]bool{}
	k.collect(dir, seen)
	all := make([]string, 0, len(seen))
	for p := range seen {
		all = append(all, p)
	}
	slices.Sort(all)
	if k.closures == nil {
		k.closures = map[string][]string{}
	}
	k.closures[dir] = all
	return all
}

func (k *kustomizations) collect(dir string, seen map[string]bool) {
	if seen[dir] {
		return
	}
	seen[dir] = true
	of := k.partsOf(dir)
	for _, p := range of.files {
		seen[p] = true
	}
	for _, p := range of.folders {
		k.collect(p, seen)
	}
}

// parts are the folders and files of the repository that a kustomization names.
type parts struct{ folders, files []string }

// partsOf reads a kustomization, once for all whose closures have it.
func (k *kustomizations) partsOf(dir string) parts {
	if n, ok := k.parts[dir]; ok {
		return n
	}
	n := k.readParts(dir)
	if k.parts == nil {
		k.parts = map[string]parts{}
	}
	k.parts[dir] = n
	return n
}

func (k *kustomizations) readParts(dir string) (n parts) {
	tree := k.repository.tree
	file := kustomizationFile(tree, dir)
	if file == "" {
		return n
	}
	data, err := tree.Read(file)
	if err != nil {
		return n
	}
	// A kustomization that does not parse has nothing to follow; building it
	// says what is wrong.
	v, err := yamldoc.ParseKustomization(file, data)
	if err != nil {
		return n
	}
	for _, one := range k.repository.inflations(dir, v) {
		if k.repository.makesApplications(one) {
			k.inflating[dir] = true
			k.inflates[one.dir] = true
		}
	}
	for _, key := range []string{"resources", "bases", "components"} {
		for _, item := range v.At(key).Elements() {
			p := path.Join(dir, item.Text)
			switch {
			case item.Text == "" || path.IsAbs(item.Text):
			case tree.IsDir(p):
				n.folders = append(n.folders, p)
			case tree.IsFile(p):
				n.files = append(n.files, p)
			}
		}
	}
	return n
}

// yieldsFrom reports whether something in the closure of a kustomization is one of the
// documents that are asked for, or a chart that makes Applications.
func (r *Repository) yieldsFrom(closure []string, asked func(document) bool) bool {
	return slices.ContainsFunc(closure, func(p string) bool { return r.inflating[p] || slices.ContainsFunc(r.files[p], asked) })
}

// notePatches notes the files that a kustomization patches with.
func (r *Repository) notePatches(file string) {
	data, err := r.tree.Read(file)
	if err != nil {
		return
	}
	r.noteCommented(file, data)
	v, err := yamldoc.ParseKustomization(file, data)
	if err != nil {
		return
	}
	r.noteCarried(file, v)
	note := func(p string) {
		if p != "" && !strings.Contains(p, "\n") {
			r.patches[path.Join(path.Dir(file), p)] = true
		}
	}
	for _, key := range []string{"patches", "patchesJson6902", "patchesStrategicMerge"} {
		list := v.At(key)
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			note(item.TextAt("path"))
			if key == "patchesStrategicMerge" {
				note(item.Text)
			}
		}
	}
}

// build returns the objects of a kustomization with the positions of the files
// they come from, and reports what was left out.
func (r *Repository) build(ctx context.Context, dir string, options *model.KustomizeOptions) ([]document, error) {
	key := dir
	if options != nil {
		text, err := json.Marshal(options)
		if err != nil {
			return nil, fmt.Errorf("read the options of the kustomization %s: %w", dir, err)
		}
		key += "\n" + string(text)
	}
	b, ok := r.built[key]
	if !ok {
		b.documents, b.leftOut, b.err = r.run(ctx, dir, options, false)
		if b.err != nil && (len(b.leftOut) > 0 || strings.Contains(b.err.Error(), "no matches for") && slices.ContainsFunc(r.closure(dir), r.hasCharts)) {
			// What was left out, and the charts, may be what patches are for.
			if documents, left, err := r.run(ctx, dir, options, true); err == nil {
				b.documents, b.leftOut, b.err = documents, left, nil
			}
		}
		if r.built == nil {
			r.built = map[string]built{}
		}
		r.built[key] = b
	}
	for _, left := range b.leftOut {
		if left.missing != "" {
			f := newFinding(RuleMissing, finding.Error, left.at, "", "%s", left.what)
			f.Fix.Summary = "add it, or take the entry out; paths are relative to the kustomization"
			// Neither is what it builds besides: it builds nothing.
			f.Unread = []finding.Unread{{Position: left.at, Reason: left.what, Part: true}}
			if r.byHandFolders[dir] {
				if at, ignored := r.ignoredBy(left.missing); ignored {
					f.Severity = finding.Info
					f.Message += fmt.Sprintf("; %s keeps it out of Git, and who applies the kustomization by hand has it", at)
					f.Evidence = append(f.Evidence, finding.Evidence{Text: left.missing + " is kept out of Git", File: at.File, Line: at.Line})
				}
			}
			r.findings = append(r.findings, f)
			continue
		}
		if left.invalid {
			f := newFinding(RuleInvalid, finding.Error, left.at, "", "%s", left.what)
			f.Fix.Summary = "take the entry out, or list in that kustomization what it is for"
			r.findings = append(r.findings, f)
			continue
		}
		if left.part {
			r.partNotRead(left.at, "", "%s", left.what)
			continue
		}
		r.notRead(left.at, "", "%s", left.what)
	}
	return slices.Clone(b.documents), b.err
}

// run runs kustomize in a worker. lenient leaves out the patches that are not for
// Argo CD's own objects.
func (r *Repository) run(ctx context.Context, dir string, options *model.KustomizeOptions, lenient bool) ([]document, []leftOut, error) {
	var view *kustomizeView
	look := func() rendersource.View {
		view = &kustomizeView{tree: r.tree, top: dir, options: options, lenient: lenient, repository: r, ctx: ctx, made: map[string]made{}}
		return view
	}
	var objects []map[string]any
	asked, err := json.Marshal([]any{options, lenient})
	switch {
	case err != nil:
		return nil, nil, err
	case r.opts.Renderer == nil:
		objects, err = evaluate.Kustomization(ctx, look(), dir)
	default:
		objects, err = r.opts.Renderer.Build(ctx, look, dir, string(asked))
	}
	if view.err != nil {
		return nil, view.leftOut, view.err
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, view.leftOut, context.Cause(ctx)
		}
		return nil, view.leftOut, r.unbuilt(view, err)
	}
	at := finding.Position{File: kustomizationFile(r.tree, dir), Line: 1} // locate finds the true one
	values := make([]*yamldoc.Value, len(objects))
	for i, o := range objects {
		values[i] = yamldoc.FromAny(o, at)
	}
	written := r.writtenIn(dir)
	var all []document
	for _, d := range split(values) {
		all = append(all, r.locate(dir, d, written, view.made))
	}
	return all, view.leftOut, nil
}

// unbuilt says why a kustomization cannot be built, at the file where that is written.
func (r *Repository) unbuilt(view *kustomizeView, err error) error {
	if file, problem := manifest.Malformed(err.Error(), view.seen, r.tree.Read); problem != nil {
		data, _ := r.tree.Read(file) // it was read before
		if _, err := yamldoc.Parse(file, data); err != nil {
			return err
		}
	}
	return &repofs.InputError{
		Position: finding.Position{File: kustomizationFile(r.tree, view.top), Line: 1}, Message: "kustomize: " + err.Error(), Err: err,
	}
}

// writtenIn lists the objects in the files of a kustomization by their kind, those
// with long names first: a prefix or suffix of the kustomization may be on a name.
func (r *Repository) writtenIn(dir string) map[string][]document {
	byKind := map[string][]document{}
	for _, p := range r.closure(dir) {
		for _, d := range r.files[p] {
			if d.name() != "" {
				byKind[d.kind()] = append(byKind[d.kind()], d)
			}
		}
	}
	for _, list := range byKind {
		slices.SortStableFunc(list, func(a, b document) int { return cmp.Compare(len(b.name()), len(a.name())) })
	}
	return byKind
}

// locate finds where a built object is written: as a whole among what is written in
// the kustomization, else in the kustomization itself.
func (r *Repository) locate(dir string, d document, written map[string][]document, charts map[string]made) document {
	if file := d.value.TextAt("metadata", "annotations", madeAnnotation); file != "" {
		d.rendered = true
		d.written = &yamldoc.Value{Kind: yamldoc.Map, Position: charts[file].at}
		return d
	}
	of := written[d.kind()]
	for _, c := range of {
		if strings.Contains(d.name(), c.name()) {
			d.written = c.written
			d.value = d.value.Like(d.written)
			return d
		}
	}
	d.written = &yamldoc.Value{Kind: yamldoc.Map, Position: finding.Position{File: kustomizationFile(r.tree, dir), Line: 1}}
	if len(of) == 1 { // the kustomization renames it
		d.value = d.value.Like(of[0].written)
	} else {
		d.value = d.value.Located(d.written.Position)
	}
	return d
}

// kustomizeView is what kustomize sees of the repository: its kustomizations without
// what would need the network or another program, and with what stands for charts.
type kustomizeView struct {
	tree *repofs.Tree
	// top is the kustomization that is built, options what its Application sets.
	top     string
	options *model.KustomizeOptions
	lenient bool
	leftOut []leftOut
	err     error
	// seen are the files that were read, and those that are not there.
	seen []string
	// made are the files that stand for charts, by their paths.
	made       map[string]made
	repository *Repository
	// ctx is that of the one build that the view is made for.
	ctx context.Context //nolint:containedctx // a view is asked without one
}

type leftOut struct {
	at   finding.Position
	what string
	// missing is the path of what should be in the repository.
	missing string
	// invalid is set for what kustomize refuses.
	invalid bool
	// part is set for what is no Application of its own.
	part bool
}

// Read implements source.View.
func (g *kustomizeView) Read(name string) ([]byte, error) {
	if chart, ok := g.made[name]; ok {
		return chart.text, nil
	}
	data, err := g.tree.Read(name)
	g.seen = append(g.seen, name)
	if err == nil && isKustomizationName(path.Base(name)) {
		data, err = g.rewrite(name, data)
	}
	// kustomize tries names that do not exist, and folders as files; only other errors are
	// ours to report.
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !g.tree.IsDir(name) && g.err == nil {
		g.err = err
	}
	return data, err
}

// List implements source.View.
func (g *kustomizeView) List(name string) ([]string, error) {
	names, err := g.tree.List(name)
	all := make([]string, len(names))
	for i, n := range names {
		if all[i] = n; g.tree.IsDir(path.Join(name, n)) {
			all[i] += "/"
		}
	}
	return all, err
}

// Stat implements source.View.
func (g *kustomizeView) Stat(name string) (rendersource.Kind, error) {
	_, isMade := g.made[name]
	switch {
	case isMade, g.tree.IsFile(name):
		return rendersource.File, nil
	case g.tree.IsDir(name):
		return rendersource.Folder, nil
	default:
		return rendersource.Missing, nil
	}
}

// Resolve implements source.View. What charts make is nowhere on disk.
func (g *kustomizeView) Resolve(name string) (string, error) {
	if _, isMade := g.made[name]; isMade {
		return name, nil
	}
	abs, err := g.tree.Resolve(name, finding.Position{})
	return g.tree.Rel(abs), err
}

// MarkRemote implements source.View.
func (g *kustomizeView) MarkRemote() {}

// isRemote reports whether a resource that is not in the repository is one of
// another repository, in the forms that kustomize knows.
func isRemote(resource string) bool {
	for _, sign := range []string{"://", "git@", "github.com/", "?ref=", "?version=", ".git//"} {
		if strings.Contains(resource, sign) {
			return true
		}
	}
	return false
}

// remotePath finds a scalar that is nothing but an address of a file.
func remotePath(v *yamldoc.Value) *yamldoc.Value {
	if v.Kind == yamldoc.Scalar && !strings.ContainsAny(strings.TrimSpace(v.Text), " \n") &&
		(strings.HasPrefix(v.Text, "http://") || strings.HasPrefix(v.Text, "https://")) {
		return v
	}
	for _, item := range v.Items {
		if found := remotePath(item); found != nil {
			return found
		}
	}
	for _, e := range v.Entries {
		// Literals may well hold addresses; file names are elsewhere.
		if e.Key == "literals" || e.Key == "value" || e.Key == "options" {
			continue
		}
		if found := remotePath(e.Value); found != nil {
			return found
		}
	}
	return nil
}
