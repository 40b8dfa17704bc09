package argocd

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

const (
	// maxGiven is how many files are tried as the values of a chart, maxGivenSize their size.
	maxGiven     = 12
	maxGivenSize = 1 << 20
	// maxFailed is how many of them may fail to render before no more are tried: a chart may be made to
	// reach the limits of the renderer each time.
	maxFailed = 2
)

// readsValue matches the value at the top that a template reads.
var readsValue = lazyregexp.New(`\.Values\.([A-Za-z_][A-Za-z0-9_]*)`)

// givenValues are the files of the repository, by a name for each, with which a chart that nothing
// applies makes Applications, where it makes none with its own values. One that an Application of
// another gives to the chart is left out.
func (r *Repository) givenValues(ctx context.Context, dir, base string) map[string]string {
	if r.opts.Renderer == nil || ctx.Err() != nil {
		return nil
	}
	made, ok := r.madeWith(ctx, rootChart{dir: dir, dependencies: r.besideCharts(dir)}, base)
	if len(made) > 0 {
		return nil
	}
	failed := 0
	if !ok {
		failed++
	}
	read := r.valuesRead(dir)
	given := map[string][]document{}
	tried := 0
	for _, file := range r.manifests {
		if tried == maxGiven || failed > maxFailed || ctx.Err() != nil {
			break
		}
		if !r.isGiven(file, dir, read) {
			continue
		}
		tried++
		made, ok := r.madeWith(ctx, rootChart{dir: dir, values: []string{file}, dependencies: r.besideCharts(dir)}, base)
		if !ok {
			failed++
		}
		if len(made) > 0 {
			given[file] = made
		}
	}
	for _, by := range slices.Sorted(maps.Keys(given)) {
		for _, d := range given[by] {
			for _, file := range r.valueFilesOf(d) {
				if file != by { // it may install itself
					delete(given, file)
				}
			}
		}
	}
	all := map[string]string{}
	for file := range given {
		name := defaultName
		if len(given) > 1 {
			if name = inName(path.Base(path.Dir(file))); path.Dir(file) == "." {
				name = inName(strings.TrimSuffix(path.Base(file), path.Ext(file)))
			}
		}
		if all[name] == "" || file < all[name] {
			all[name] = file
		}
	}
	return all
}

// givenElsewhere reports whether the values of a chart lie outside of its folder.
func (c rootChart) givenElsewhere() bool {
	return c.dir != "." && slices.ContainsFunc(c.values, func(file string) bool { return !strings.HasPrefix(file, c.dir+"/") })
}

// withValues are the documents that may install a chart with its values: those that give it the same
// file, where this lies elsewhere.
func (r *Repository) withValues(documents []document, c rootChart) []document {
	if !c.givenElsewhere() {
		return documents
	}
	return slices.DeleteFunc(slices.Clone(documents), func(d document) bool { return !slices.Contains(r.valueFilesOf(d), c.values[0]) })
}

// madeWith are the Applications that a chart makes, and nothing that is only assumed. There are none
// where one of them lacks its name or its sources: the values are for something else. It reports
// whether the chart was rendered without a finding.
func (r *Repository) madeWith(ctx context.Context, chart rootChart, base string) ([]document, bool) {
	before := len(r.findings)
	defer func() { r.findings = r.findings[:before] }()
	y, err := r.yieldApplication(ctx, chart.document(base, defaultName))
	if err != nil {
		return nil, false
	}
	rendered := len(r.findings) == before
	made := slices.DeleteFunc(slices.Clone(y.documents), func(d document) bool { return d.assumed || !d.applies() })
	if slices.ContainsFunc(made, func(d document) bool { return d.name() == "" || d.isApplication() && len(d.sources()) == 0 }) {
		return nil, rendered
	}
	return made, rendered
}

// valuesRead are the values at the top that the templates of a chart, and of those that it depends on,
// read.
func (r *Repository) valuesRead(dir string) map[string]bool {
	read := map[string]bool{}
	for _, file := range r.all {
		if strings.HasPrefix(file, path.Join(dir, "templates")+"/") {
			data, err := r.tree.Read(file)
			if err != nil {
				continue
			}
			for _, m := range readsValue.FindAllSubmatch(data, -1) {
				read[string(m[1])] = true
			}
		}
	}
	for _, beside := range r.besideCharts(dir) {
		read[path.Base(beside)] = true
	}
	return read
}

// isGiven reports whether a file may be values of a chart that lie elsewhere: it is no object, and
// has something that the chart reads.
func (r *Repository) isGiven(file, dir string, read map[string]bool) bool {
	name := path.Base(file)
	if strings.HasPrefix(file, dir+"/") || name == "Chart.yaml" || isKustomizationName(name) || strings.HasPrefix(name, ".") || r.isUnused(file) || r.inTemplates(file) {
		return false
	}
	if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
		return false
	}
	data, err := r.tree.Read(file)
	if err != nil || len(data) > maxGivenSize {
		return false
	}
	v, err := yamldoc.ParseOne(file, data)
	if err != nil || v.Kind != yamldoc.Map || v.At("kind") != nil || v.At("apiVersion") != nil {
		return false
	}
	return slices.ContainsFunc(v.Entries, func(e yamldoc.Entry) bool { return read[e.Key] && len(e.Value.Entries)+len(e.Value.Items) > 0 })
}

// valueFilesOf are the value files of the repository that an Application gives to charts.
func (r *Repository) valueFilesOf(d document) []string {
	var all []string
	for _, s := range d.sources() {
		dir, ok := r.local(s)
		files := s.value.At("helm", "valueFiles")
		if !ok || files == nil {
			continue
		}
		for _, f := range files.Items {
			all = append(all, path.Join(dir, f.Text))
		}
	}
	return all
}

// makesNone tells of a chart that has templates of Applications, and makes none.
func (r *Repository) makesNone(d document, dir string) {
	if template := r.templateOf(dir, 0); template != "" {
		r.notRead(finding.Position{File: path.Join(dir, "Chart.yaml"), Line: 1}, d.name(), "the chart %s templates Applications (%s), and makes none with its own values: who installs it gives others", dir, template)
	}
}
