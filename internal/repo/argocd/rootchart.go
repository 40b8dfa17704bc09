package argocd

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// rootChart is a chart that nothing in the repository applies and that makes
// Applications: somebody installs it.
type rootChart struct {
	dir string
	// values are the layers over the chart's own values, the last of which wins.
	values []string
	// dependencies are charts of the repository that it depends on by an address.
	dependencies map[string]string
	// installed is how Terraform installs it; nil where it does not, or not all is known.
	installed *model.Source
}

// document stands for the Application that would install the chart, with the
// component it would be.
func (c rootChart) document(name, environment string) document {
	at := finding.Position{File: path.Join(c.dir, "Chart.yaml"), Line: 1}
	v := yamldoc.FromAny(map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": name, "namespace": defaultNamespace},
		"spec":     map[string]any{"project": "default", "destination": map[string]any{"namespace": defaultNamespace}},
	}, at)
	src := model.Source{Kind: model.Chart, Path: c.dir, ReleaseName: name, Dependencies: c.dependencies, Position: at}
	if c.installed != nil {
		src = *c.installed
	} else {
		for _, file := range c.values {
			src.ValueFiles = append(src.ValueFiles, model.ValueFile{Path: file, Position: finding.Position{File: file, Line: 1}})
		}
	}
	return document{value: v, written: v, chart: &model.Component{
		Name: name, Environment: environment, Project: "default", Namespace: defaultNamespace, Phase: model.NoPhase,
		Type: model.Runtime, Enabled: true, Sources: []model.Source{src}, Position: at, Fields: map[string]finding.Position{},
	}}
}

// chartRoots are the environments of the charts among the roots: of those that no
// Application takes which another of these charts makes. Those that make no
// Application are idle.
func (r *Repository) chartRoots(ctx context.Context, roots []entry) (live, idle []Environment, err error) {
	environments := map[string][2][]Environment{}
	var dirs []string
	takes := map[string]map[string]document{}
	for _, root := range roots {
		dir := root.chart.dir
		if dir == "" {
			continue
		}
		some, dead, err := r.chartEnvironments(ctx, root)
		if err != nil {
			return nil, nil, err
		}
		dirs, environments[dir], takes[dir] = append(dirs, dir), [2][]Environment{some, dead}, map[string]document{}
		for i := range some {
			below := map[string]document{}
			if err := r.chartTakes(ctx, some[i].roots[0].document, 0, below); err != nil {
				return nil, nil, err
			}
			elsewhere := some[i].roots[0].chart.givenElsewhere()
			if self, ok := below[dir]; ok && self.generated == nil && !elsewhere {
				some[i].roots[0].document = self // this is who it is, once somebody has installed the chart
			}
			maps.Copy(takes[dir], below)
		}
	}
	for i, dir := range dirs {
		taken := false
		for j, other := range dirs {
			// Of two that take each other the first stays.
			_, of := takes[other][dir]
			_, back := takes[dir][other]
			taken = taken || i != j && of && (!back || j < i)
		}
		if !taken {
			live, idle = append(live, environments[dir][0]...), append(idle, environments[dir][1]...)
		}
	}
	return live, idle, nil
}

// chartTakes notes the folders that the Applications below one take, each with the first of them.
func (r *Repository) chartTakes(ctx context.Context, d document, depth int, takes map[string]document) error {
	if depth > MaxDepth {
		return nil
	}
	before := len(r.findings)
	defer func() { r.findings = r.findings[:before] }()
	y, err := r.yieldApplication(ctx, d)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return nil // it is told when the environment is read
	}
	for _, below := range y.documents {
		apps := []document{below}
		if below.argo("ApplicationSet") {
			apps = r.expand(ctx, below)
		}
		for _, app := range apps {
			if !app.isApplication() {
				continue
			}
			fresh := false
			for _, s := range app.sources() {
				dir, ok := r.local(s)
				if _, known := takes[dir]; ok && !known {
					takes[dir], fresh = app, true
				}
			}
			if !fresh {
				continue
			}
			if err := r.chartTakes(ctx, app, depth+1, takes); err != nil {
				return err
			}
		}
	}
	return nil
}

// installs finds the Application that a chart, or an overlay, makes of itself.
func (r *Repository) installs(documents []document, folder string) (document, bool) {
	for _, d := range documents {
		if !d.isApplication() {
			continue
		}
		for _, s := range d.sources() {
			if dir, ok := r.local(s); ok && dir == folder {
				return d, true
			}
		}
	}
	return document{}, false
}

// valuesLayer matches the value files of a chart that are made for one
// environment.
var valuesLayer = lazyregexp.New(`^(?:values[-._]([\w-]+)|([\w-]+)[-._]values|(?:values|envs?|environments)/([\w-]+))\.ya?ml$`)

// beforeProduction is what stages are called of which none is the last.
var beforeProduction = []string{"preprod", "stage", "staging", "uat", "qa", "test", "dev", "development", "local", "sandbox"}

// chartEnvironments are those of a chart that nothing applies: one for each of
// several layers of values, and one without where these are all of stages before production,
// else one. Those that make no Application are idle.
func (r *Repository) chartEnvironments(ctx context.Context, root entry) (live, idle []Environment, err error) {
	base := path.Base(root.chart.dir)
	if root.chart.dir == "." {
		base = defaultName
	}
	layers := map[string][]string{}
	for _, file := range r.within(root.chart.dir) {
		rel, _ := below(root.chart.dir, file)
		if m := valuesLayer.FindStringSubmatch(rel); m != nil {
			layers[cmp.Or(m[1], m[2], m[3])] = []string{file}
		}
	}
	if len(layers) < 2 {
		layers = r.templatedLayers(root.chart.dir)
	}
	installed := r.installedBy(ctx, root.chart.dir)
	switch {
	case len(layers) == 0 || installed != nil:
		layers = map[string][]string{defaultName: nil}
	case !slices.ContainsFunc(slices.Collect(maps.Keys(layers)), func(name string) bool { return !slices.Contains(beforeProduction, name) }):
		layers[defaultName] = nil // production has the chart's own values
	}
	if len(layers) == 1 && layers[defaultName] == nil && installed == nil {
		if given := r.givenValues(ctx, root.chart.dir, base); len(given) > 0 {
			layers = map[string][]string{}
			for name, file := range given {
				layers[name] = []string{file}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(layers)) {
		chart := rootChart{dir: root.chart.dir, values: layers[name], dependencies: r.besideCharts(root.chart.dir), installed: installed}
		if installed != nil {
			base = installed.ReleaseName
		}
		e := Environment{Name: name, roots: []entry{{document: chart.document(base, name), chart: chart}}}
		before := len(r.findings)
		y, err := r.yieldApplication(ctx, e.roots[0].document)
		if self, ok := r.installs(r.withValues(y.documents, chart), root.chart.dir); ok {
			// Somebody installs the chart once; from then on this is who it is.
			e.roots[0].document = self
		} else if slices.ContainsFunc(y.documents, func(d document) bool { return d.isApplication() && d.name() == base }) {
			// What it makes is another Application, with the name of the chart.
			e.roots[0].document = chart.document(base+"-chart", name)
			e.roots[0].document.chart.Sources[0].ReleaseName = base
		}
		if err == nil && !y.applies() && len(r.findings) == before {
			r.makesNone(e.roots[0].document, root.chart.dir)
		}
		e.idle = slices.Clone(r.findings[before:])
		r.findings = r.findings[:before]
		switch {
		case err != nil:
			return nil, nil, err
		case y.applies():
			e.idle = nil
			if chart.givenElsewhere() {
				file := chart.values[0]
				e.idle = []finding.Finding{newFinding(RuleAssumed, finding.Info, finding.Position{File: file, Line: 1}, e.roots[0].document.name(),
					"the chart %s is rendered with the values of %s: it makes no Application with its own", root.chart.dir, file)}
			}
			live = append(live, e)
		default:
			idle = append(idle, e)
		}
	}
	return live, idle, nil
}
