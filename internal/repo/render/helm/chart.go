package helm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/ignore"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
	"github.com/rollout-ladder/ladder/internal/repo/render/values"
)

// loadedChart is a chart and where each of its files is in the repository.
type loadedChart struct {
	chart *chart.Chart
	// folder of the chart in the repository; empty for an archive.
	folder string
	// at is what to name for files that are not in the repository as such: the
	// archive, or for a remote chart the descriptor.
	at finding.Position
	// origins maps a file of the chart or of a dependency to its position; the
	// loader and aliases share the file's memory.
	origins map[*common.File]finding.Position
	// absent are dependencies that are left out where a part may be rendered.
	absent []absent
}

// load reads a local chart folder, a local archive, or a remote chart.
func load(ctx context.Context, view source.View, src model.Source, opts Options) (*loadedChart, error) {
	if src.Path == "" || src.RepoURL != "" {
		return loadRemote(ctx, view, src, opts)
	}
	kind, err := view.Stat(src.Path)
	if err != nil {
		return nil, source.Errorf(src.Position, "chart: %w", err)
	}
	switch kind {
	case source.Missing:
		return nil, source.Absent(src.Position, "chart", src.Path)
	case source.File:
		data, err := view.Read(src.Path)
		if err != nil {
			return nil, source.Errorf(src.Position, "chart: %w", err)
		}
		return loadArchive(data, finding.Position{File: src.Path}, src.Position)
	default:
		return loadFolder(ctx, view, src.Path, src.Position, opts, 0)
	}
}

// maxLocalDependencies bounds charts that depend on charts by file://.
const maxLocalDependencies = 10

func loadFolder(ctx context.Context, view source.View, folder string, at finding.Position, opts Options, depth int) (*loadedChart, error) {
	files, err := readFolder(view, folder, at)
	if err != nil {
		return nil, err
	}
	named := make([]archive.BufferedFile, len(files)) // LoadFiles renames what it is given
	for i, f := range files {
		named[i] = *f
	}
	nameless := rename(files)
	c, err := loader.LoadFiles(files)
	if err != nil {
		for _, f := range named {
			if manifest.IsPointer(f.Data) {
				return nil, pointer(path.Join(folder, f.Name))
			}
			if f.Name != "Chart.yaml" && f.Name != "values.yaml" {
				continue
			}
			if err := values.CheckYAML(path.Join(folder, f.Name), f.Data); err != nil {
				return nil, err
			}
		}
		return nil, chartProblem(err, folder, at)
	}
	if nameless != "" {
		c.Metadata.Name = nameless
	}
	out := &loadedChart{chart: c, folder: folder, at: finding.Position{File: path.Join(folder, "Chart.yaml"), Line: 1}, origins: map[*common.File]finding.Position{}}
	out.locate(c, folder, named)
	if err := out.complete(ctx, view, at, opts, depth); err != nil {
		return nil, err
	}
	sortDependencies(c)
	return out, nil
}

// dotName is the name of a chart that only newer versions of Helm refuse.
var dotName = lazyregexp.New(`(?m)^name:[ \t]*["']?\.["']?[ \t]*(?:#.*)?$`)

// rename gives a chart whose name is a dot another one while it is loaded, since the Helm of Argo CD
// loads it. It returns the name that the chart has. Source: Helm 4.2, pkg/chart/v2/metadata.go,
// Validate; Helm 4.0 and 3 have no such check.
func rename(files []*archive.BufferedFile) string {
	for _, f := range files {
		if f.Name == "Chart.yaml" && dotName.Match(f.Data) {
			f.Data = dotName.ReplaceAll(f.Data, []byte("name: chart"))
			return "."
		}
	}
	return ""
}

// pointer is the problem of a file of a chart that Git LFS keeps elsewhere.
func pointer(file string) error {
	return source.Errorf(finding.Position{File: file, Line: 1}, "%s is a pointer of Git LFS, not the file; run git lfs pull", file)
}

func chartProblem(err error, folder string, at finding.Position) error {
	reason := err.Error()
	if strings.Contains(reason, "Chart.yaml file is missing") {
		return &source.Error{Position: at, Reason: folder + " holds no Chart.yaml, so it is not a chart", Err: err}
	}
	return &source.Error{Position: finding.Position{File: path.Join(folder, "Chart.yaml"), Line: 1}, Reason: "the chart cannot be loaded: " + oneLine(reason), Err: err}
}

// readFolder reads the files of a chart folder, without those that .helmignore
// leaves out.
func readFolder(view source.View, folder string, at finding.Position) ([]*archive.BufferedFile, error) {
	rules := ignore.Empty()
	data, err := view.Read(path.Join(folder, ignore.HelmIgnore))
	if err == nil {
		rules, err = ignore.Parse(bytes.NewReader(data))
		if err != nil {
			return nil, source.Errorf(finding.Position{File: path.Join(folder, ignore.HelmIgnore), Line: 1}, "cannot read the ignore rules: %w", err)
		}
	} else if !missingFile(err) {
		return nil, source.Errorf(at, "chart: %w", err)
	}
	rules.AddDefaults()
	var names []string
	skip := func(rel string) bool { return rules.Ignore(rel, entry{name: rel, dir: true}) }
	err = source.Walk(view, folder, skip, func(rel string) error {
		if !rules.Ignore(rel, entry{name: rel}) {
			names = append(names, path.Join(folder, rel))
		}
		return nil
	})
	if err != nil {
		return nil, source.Errorf(at, "chart %s: %w", folder, err)
	}
	source.ReadAhead(view, names)
	var files []*archive.BufferedFile
	for _, name := range names {
		data, err := view.Read(name)
		if err != nil {
			return nil, source.Errorf(at, "chart %s: %w", folder, err)
		}
		if int64(len(data)) > archive.MaxDecompressedFileSize {
			return nil, source.Errorf(at, "chart %s: %w", folder, &source.SizeError{Path: name, Limit: archive.MaxDecompressedFileSize})
		}
		rel := strings.TrimPrefix(name, path.Clean(folder)+"/")
		files = append(files, &archive.BufferedFile{Name: rel, Data: bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))})
	}
	return files, nil
}

// entry is the little of a file that ignore rules ask for.
type entry struct {
	name string
	dir  bool
}

func (e entry) Name() string       { return path.Base(e.name) }
func (e entry) Size() int64        { return 0 }
func (e entry) ModTime() time.Time { return time.Time{} }
func (e entry) IsDir() bool        { return e.dir }
func (e entry) Sys() any           { return nil }
func (e entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir
	}
	return 0
}

func loadArchive(data []byte, file, at finding.Position) (*loadedChart, error) {
	if manifest.IsPointer(data) {
		return nil, pointer(file.File)
	}
	c, err := loader.LoadArchive(bytes.NewReader(data))
	if err != nil {
		return nil, source.Errorf(at, "the chart archive %s cannot be read: %w", file.File, err)
	}
	out := &loadedChart{chart: c, at: file, origins: map[*common.File]finding.Position{}}
	out.locate(c, "", nil)
	sortDependencies(c)
	return out, nil
}

// locate records where the files of a chart and its dependencies are. files are
// those of the folder; nil when the chart is inside an archive.
func (l *loadedChart) locate(c *chart.Chart, folder string, files []archive.BufferedFile) {
	for _, group := range [][]*common.File{c.Templates, c.Files} {
		for _, f := range group {
			l.origins[f] = l.at
			if files != nil {
				l.origins[f] = finding.Position{File: path.Join(folder, f.Name), Line: 1}
			}
		}
	}
	for _, dep := range c.Dependencies() {
		sub, subFiles := dependencyFolder(dep, files)
		switch {
		case subFiles != nil:
			l.locate(dep, path.Join(folder, sub), subFiles)
		case files != nil:
			inner := &loadedChart{at: finding.Position{File: path.Join(folder, dependencyArchive(dep, files))}, origins: l.origins}
			inner.locate(dep, "", nil)
		default:
			l.locate(dep, "", nil)
		}
	}
}

// dependencyFolder finds the folder below charts/ that a dependency was loaded
// from: the one with the very same Chart.yaml.
func dependencyFolder(dep *chart.Chart, files []archive.BufferedFile) (string, []archive.BufferedFile) {
	var meta []byte
	for _, f := range dep.Raw {
		if f.Name == "Chart.yaml" {
			meta = f.Data
		}
	}
	for _, f := range files {
		parts := strings.Split(f.Name, "/")
		if len(parts) != 3 || parts[0] != "charts" || parts[2] != "Chart.yaml" || !bytes.Equal(f.Data, meta) {
			continue
		}
		folder := path.Join(parts[0], parts[1])
		sub := []archive.BufferedFile{}
		for _, g := range files {
			if rest, ok := strings.CutPrefix(g.Name, folder+"/"); ok {
				sub = append(sub, archive.BufferedFile{Name: rest, Data: g.Data})
			}
		}
		return folder, sub
	}
	return "", nil
}

// dependencyArchive finds the archive below charts/ of a dependency.
func dependencyArchive(dep *chart.Chart, files []archive.BufferedFile) string {
	for _, f := range files {
		base, ok := strings.CutPrefix(f.Name, "charts/")
		if ok && path.Ext(base) == ".tgz" && strings.HasPrefix(base, dep.Name()+"-") &&
			(dep.Metadata == nil || strings.Contains(base, dep.Metadata.Version)) {
			return f.Name
		}
	}
	return "charts"
}

// complete adds dependencies that are not vendored but can be had: charts of
// the repository named by file://, and remote ones when not offline.
func (l *loadedChart) complete(ctx context.Context, view source.View, at finding.Position, opts Options, depth int) error {
	whole := l.isWhole()
	for _, dep := range l.chart.Metadata.Dependencies {
		if dep == nil || whole || l.has(dep) {
			continue
		}
		local, isFile := strings.CutPrefix(dep.Repository, "file://")
		if folder := opts.Dependencies[dep.Name]; folder != "" && !isFile && depth < maxLocalDependencies {
			sub, err := loadFolder(ctx, view, folder, l.at, opts, depth+1)
			if err != nil {
				return err
			}
			l.adopt(sub)
			continue
		}
		switch {
		case isFile && l.folder != "":
			if depth >= maxLocalDependencies {
				return source.Errorf(l.at, "charts depend on each other more than %d deep; is there a circle?", maxLocalDependencies)
			}
			folder := path.Join(l.folder, local)
			if kind, err := view.Stat(folder); err != nil {
				return source.Errorf(l.at, "dependency %s: %w", dep.Name, err)
			} else if kind != source.Folder {
				return source.Errorf(l.at, "dependency %s: chart %s does not exist", dep.Name, folder)
			}
			sub, err := loadFolder(ctx, view, folder, l.at, opts, depth+1)
			if err != nil {
				return err
			}
			l.adopt(sub)
		case opts.Fetch != nil && !isFile && dep.Repository != "" && !strings.HasPrefix(dep.Repository, "@") && !strings.HasPrefix(dep.Repository, "alias:"):
			view.MarkRemote()
			data, err := opts.Fetch(ctx, dep.Repository, dep.Name, dep.Version)
			if err != nil {
				problem := &source.Error{Position: l.dependencyLine(dep.Name), Err: err,
					Reason: fmt.Sprintf("dependency %s cannot be fetched: %v; vendor it with `helm dependency build`", dep.Name, err)}
				if opts.Partial && depth == 0 && ctx.Err() == nil {
					l.absent = append(l.absent, absent{dep, problem})
					continue
				}
				return problem
			}
			sub, err := loadArchive(data, l.at, at)
			if err != nil {
				return err
			}
			l.adopt(sub)
		case opts.Partial && depth == 0 && !isFile && dep.Repository != "":
			if opts.Fetch != nil {
				view.MarkRemote()
			}
			l.absent = append(l.absent, absent{dep, withoutFetch(dep, l.dependencyLine(dep.Name))})
		}
	}
	return nil
}

// dependencyLine is where a chart names a dependency.
func (l *loadedChart) dependencyLine(name string) finding.Position {
	if l.folder == "" {
		return l.at
	}
	at := finding.Position{File: l.file("Chart.yaml"), Line: 1}
	for _, f := range l.chart.Raw {
		if f.Name == "Chart.yaml" {
			at.Line = lineOf(f.Data, name)
		}
	}
	return at
}

// isWhole reports whether all dependencies are in the chart, in whatever versions: then Helm takes
// those that are there. Where one is not, who renders the chart has Helm build all of them. Source:
// Helm, pkg/action, CheckDependencies; Argo CD, reposerver/repository, helmTemplate.
func (l *loadedChart) isWhole() bool {
	return !slices.ContainsFunc(l.chart.Metadata.Dependencies, func(dep *chart.Dependency) bool {
		return dep != nil && !slices.ContainsFunc(l.chart.Dependencies(), func(c *chart.Chart) bool { return c.Name() == dep.Name })
	})
}

func (l *loadedChart) has(dep *chart.Dependency) bool {
	return slices.ContainsFunc(l.chart.Dependencies(), func(c *chart.Chart) bool {
		return c.Name() == dep.Name && chartutil.IsCompatibleRange(dep.Version, c.Metadata.Version)
	})
}

func (l *loadedChart) adopt(sub *loadedChart) {
	l.chart.AddDependency(sub.chart)
	maps.Copy(l.origins, sub.origins)
}

// sortDependencies gives the dependencies a fixed order; the loader goes
// through a map.
func sortDependencies(c *chart.Chart) {
	deps := slices.Clone(c.Dependencies())
	slices.SortStableFunc(deps, func(a, b *chart.Chart) int {
		return strings.Compare(a.Name()+"\x00"+a.Metadata.Version, b.Name()+"\x00"+b.Metadata.Version)
	})
	c.SetDependencies(deps...)
	for _, d := range deps {
		sortDependencies(d)
	}
}

// checkDependencies reports enabled dependencies that are not there.
func (l *loadedChart) checkDependencies() error {
	missing := dependencyNames(l.chart)
	if len(missing) == 0 {
		return nil
	}
	return source.Errorf(l.dependencyLine(missing[0]),
		"chart %s depends on %s, which is not in its charts folder; vendor it with `helm dependency build` and commit it, or run without --offline",
		l.chart.Name(), strings.Join(missing, ", "))
}

// lineOf finds "name: x" in a Chart.yaml; 1 when it is not there.
func lineOf(data []byte, name string) int {
	for i, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " -{"), "name:") && strings.Contains(line, name) && !strings.HasPrefix(line, "name:") {
			return i + 1
		}
	}
	return 1
}

// file returns the path of a file of the chart itself, or what stands for it.
func (l *loadedChart) file(name string) string {
	if l.folder == "" {
		return l.at.File
	}
	return path.Join(l.folder, name)
}

// readsCapabilities looks through everything templates can execute.
func (l *loadedChart) readsCapabilities() bool {
	for f := range l.origins {
		if readsCapabilities(f.Data) {
			return true
		}
	}
	return anyChart(l.chart, func(c *chart.Chart) bool {
		for _, f := range c.Raw {
			if f.Name == "values.yaml" && readsCapabilities(f.Data) {
				return true
			}
		}
		return false
	})
}

func anyChart(c *chart.Chart, ok func(*chart.Chart) bool) bool {
	return ok(c) || slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return anyChart(d, ok) })
}

// crds returns the objects of the crds folders, in the order of their files.
func (l *loadedChart) crds() ([]manifest.Object, error) {
	var out []manifest.Object
	files := l.chart.CRDObjects()
	slices.SortStableFunc(files, func(a, b chart.CRD) int { return strings.Compare(a.Filename, b.Filename) })
	for _, crd := range files {
		at := l.origins[crd.File]
		parsed, err := manifest.Parse(crd.File.Data)
		var syntax *manifest.SyntaxError
		if errors.As(err, &syntax) {
			if at.Line > 0 {
				at.Line = syntax.Line
			}
			return nil, &source.Error{Position: at, Reason: fmt.Sprintf("%s of chart %s: %s", crd.Name, l.chart.Name(), syntax.Message), Err: err}
		}
		if err != nil {
			return nil, source.Errorf(at, "%s of chart %s: %w", crd.Name, l.chart.Name(), err)
		}
		for _, p := range parsed {
			origin := manifest.Origin{File: at.File, Line: at.Line}
			if at.Line > 0 {
				origin.Line = p.Line
			}
			out = append(out, manifest.Object{Unstructured: p.Object, Origin: origin, CRDFolder: true})
		}
	}
	return out, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
