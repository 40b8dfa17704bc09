package argocd

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// kept is a result with the findings that were made on the way to it: they are
// made again when it is used again.
type kept[T any] struct {
	value    T
	findings []finding.Finding
	err      error
}

// contents is what a source of an Application applies.
type contents struct {
	documents []document
	// folders are those that the documents come from.
	folders []string
	// overlay is the folder that was read, where no Application names it.
	overlay string
	// more is set where the source applies more than the documents tell.
	more bool
	// self is the Application that it is of, where that is among what it applies; the documents leave
	// it out.
	self document
}

// applies reports whether the source makes its Application a parent.
func (y contents) applies() bool { return slices.ContainsFunc(y.documents, document.applies) }

// yieldFolder reads a folder as Argo CD does: a kustomization or plain YAML. It
// reads only folders in which Applications are written, since only those can make
// their Application a parent; others yield nothing.
func (r *Repository) yieldFolder(ctx context.Context, dir string, directory *yamldoc.Value, options *model.KustomizeOptions) (contents, error) {
	if !isExplicit(directory) && r.isKustomization(dir) {
		return r.yieldKustomization(ctx, dir, options)
	}
	return r.yieldDirectory(dir, directory)
}

// isExplicit reports whether the directory section of a source says that it is
// plain YAML, whatever else is in the folder. One that says no more than not to
// recurse does not: Argo CD takes it away. Source: argo-cd, util/argo,
// NormalizeSource.
func isExplicit(directory *yamldoc.Value) bool {
	jsonnet := directory.At("jsonnet")
	return boolAt(directory, "recurse") || directory.TextAt("include") != "" || directory.TextAt("exclude") != "" ||
		jsonnet != nil && len(jsonnet.Entries) > 0
}

func (r *Repository) yieldKustomization(ctx context.Context, dir string, options *model.KustomizeOptions) (contents, error) {
	closure := r.closure(dir)
	if !r.yieldsFrom(closure, func(document) bool { return true }) {
		return contents{}, nil
	}
	documents, err := r.build(ctx, dir, options)
	if err != nil {
		return contents{}, err
	}
	y := contents{documents: documents}
	for _, p := range closure {
		y.more = y.more || r.hasCharts(p)
		if r.isKustomization(p) {
			y.folders = append(y.folders, p)
		}
	}
	return y, nil
}

// yieldDirectory reads plain YAML. Source: Argo CD, directory sources.
func (r *Repository) yieldDirectory(dir string, directory *yamldoc.Value) (contents, error) {
	taken := func(file string) bool {
		rel, ok := below(dir, file)
		return ok && chosen(directory, rel) && isManifestEnding(path.Ext(rel))
	}
	var y contents
	within := r.within(dir)
	for _, file := range within {
		documents := r.files[file]
		if _, templated := slices.BinarySearch(r.templated, file); documents == nil && templated {
			documents = r.asWritten(file)
		}
		if documents == nil || !taken(file) {
			continue
		}
		y.documents = append(y.documents, documents...)
		if folder := path.Dir(file); !slices.Contains(y.folders, folder) {
			y.folders = append(y.folders, folder)
		}
	}
	if len(y.documents) == 0 {
		return y, nil
	}
	// A parent: what else lies there is applied as well.
	for _, file := range within {
		if r.files[file] != nil || r.written[file] != nil || !taken(file) {
			continue
		}
		data, err := r.tree.Read(file)
		if err != nil {
			return contents{}, err
		}
		if tool := manifest.EncryptedBy(data); tool != "" {
			r.partNotRead(finding.Position{File: file, Line: 1}, "", "%s is encrypted by %s: what it applies is not known", file, tool)
			continue
		}
		if manifest.IsPointer(data) {
			r.notRead(finding.Position{File: file, Line: 1}, "", "%s is a pointer of Git LFS, not the file: what it applies is not known; run git lfs pull", file)
			continue
		}
		values, err := yamldoc.ParseLast(file, data)
		if err != nil && manifest.LooksLike(data) && !hasPlaceholder(string(data)) {
			r.tell("", err) // Argo CD applies nothing of the parent
		}
		y.documents = append(y.documents, split(values)...)
	}
	return y, nil
}

// asWritten are the documents of a template of a chart that is plain YAML, for a source that
// takes the folder of the chart as it is written.
func (r *Repository) asWritten(file string) []document {
	if documents, ok := r.written[file]; ok {
		return documents
	}
	var documents []document
	if data, err := r.tree.Read(file); err == nil {
		if values, err := yamldoc.ParseLast(file, data); err == nil && !hasPlaceholder(string(data)) {
			documents = split(values)
		}
	}
	r.written[file] = documents
	return documents
}

// below returns the path of a file relative to a folder, or to itself when the
// source names the file.
func below(dir, file string) (string, bool) {
	if dir == "." {
		return file, true
	}
	if dir == file {
		return path.Base(file), true
	}
	return strings.CutPrefix(file, dir+"/")
}

// chosen reports whether a directory section takes a file of the folder.
func chosen(directory *yamldoc.Value, rel string) bool {
	return (boolAt(directory, "recurse") || !strings.Contains(rel, "/")) && taken(directory.TextAt("include"), directory.TextAt("exclude"), rel)
}

// taken reports whether include and exclude of a directory source take a file.
// Source: Argo CD, in whose globs a star also matches slashes.
func taken(include, exclude, rel string) bool {
	match := func(pattern string) bool {
		g, err := glob.Compile(pattern)
		return err == nil && g.Match(rel)
	}
	return (exclude == "" || !match(exclude)) && (include == "" || match(include))
}

// boolAt reads a switch, off where it is not written.
func boolAt(v *yamldoc.Value, keys ...string) bool {
	found := v.At(keys...)
	if found == nil {
		return false
	}
	on, _ := found.Bool()
	return on
}

// within are the manifests below a folder, or the file itself.
func (r *Repository) within(dir string) []string { return section(r.manifests, dir) }

// under are all files below a folder, or the file itself.
func (r *Repository) under(dir string) []string { return section(r.all, dir) }

// section is the part of a sorted list of files that lies below a folder.
func section(list []string, dir string) []string {
	if dir == "." {
		return list
	}
	if i, ok := slices.BinarySearch(list, dir); ok {
		return list[i : i+1]
	}
	from, _ := slices.BinarySearch(list, dir+"/")
	to, _ := slices.BinarySearch(list, dir+"0") // the character after the slash
	return list[from:to]
}

// yieldApplication reads the local sources of an Application.
func (r *Repository) yieldApplication(ctx context.Context, d document) (contents, error) {
	if k, ok := r.contents[d.value]; ok {
		r.findings = append(r.findings, k.findings...)
		return k.value, k.err
	}
	before := len(r.findings)
	y, err := r.yieldSources(ctx, d)
	r.contents[d.value] = kept[contents]{value: y, findings: slices.Clone(r.findings[before:]), err: err}
	return y, err
}

func (r *Repository) yieldSources(ctx context.Context, d document) (contents, error) {
	if d.chart != nil {
		return r.yieldChart(ctx, d, d.chart.Sources[0].Path, *d.chart)
	}
	var all contents
	for _, s := range d.sources() {
		if chart := s.value.TextAt("chart"); isBundle(chart) {
			c := r.only(d, s)
			documents := makesOf(chart, r.layered(d, "", c), c.Namespace)
			r.learn(ctx, documents)
			all.documents = append(all.documents, documents...)
			continue
		}
		dir, ok := r.local(s)
		if !ok || s.value.TextAt("ref") != "" && s.path() == "" {
			all.more = all.more || s.path() != "" || s.value.TextAt("chart") != ""
			continue
		}
		s, _ = r.overridden(d, s, dir) // what is refused is told when it is rendered
		directory := s.value.At("directory")
		var y contents
		var err error
		if r.charts[dir] && r.kind(s, dir) == model.Chart {
			y, err = r.yieldChart(ctx, d, dir, r.only(d, s))
		} else {
			var problems yamldoc.Problems
			y, err = r.yieldFolder(ctx, dir, directory, r.kustomizeOptions(d, s, dir, &problems))
			if err == nil && !isExplicit(directory) && r.isKustomization(dir) {
				r.overwritten(d, s, dir, y.documents)
			}
		}
		if err == nil && r.kind(s, dir) == model.Manifests {
			if files := r.jsonnetFiles(dir, directory); len(files) > 0 {
				y, err = r.yieldJsonnet(ctx, d, s, files, y)
			}
		}
		if err != nil {
			return contents{}, located(err, s)
		}
		all.documents = append(all.documents, y.documents...)
		all.folders = append(all.folders, y.folders...)
		// A chart or folder beside one that holds Applications is applied as well.
		all.more = all.more || y.more || len(y.documents) == 0
	}
	// Argo CD may manage its own root: an Application in its own source.
	all.documents = slices.DeleteFunc(all.documents, func(o document) bool {
		own := o.isApplication() && o.name() == d.name()
		if own {
			all.self = o
		}
		return own
	})
	return all, nil
}

// only is the component of an Application with one of its sources. What is wrong
// with the Application is told when it is read.
func (r *Repository) only(d document, s source) model.Component {
	before := len(r.findings)
	c := r.component(d, "", nil)
	r.findings = r.findings[:before]
	c.Sources = slices.DeleteFunc(c.Sources, func(o model.Source) bool { return o.Position != s.position })
	return c
}

// refused tells the errors in a parent, which is no component where it applies nothing
// but Applications, and the parts of it that are not read: what it makes hangs on them.
func (r *Repository) refused(d document) {
	before := len(r.findings)
	r.component(d, "", nil)
	r.findings = append(r.findings[:before], slices.DeleteFunc(slices.Clone(r.findings[before:]), func(f finding.Finding) bool {
		part := f.Rule == RuleNotRead && slices.ContainsFunc(f.Unread, func(u finding.Unread) bool { return u.Part })
		return f.Severity != finding.Error && !part
	})...)
}

// located gives an error without a place that of the source.
func located(err error, s source) error {
	var input *repofs.InputError
	if errors.As(err, &input) && input.Position.File == "" {
		input.Position = s.at("path")
	}
	return err
}
