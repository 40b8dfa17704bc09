package argocd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
)

// chartHome is where the charts of a kustomization are, unless it says so.
// Source: kustomize, HelmDefaultHome.
const chartHome = "charts"

// inflation is a chart that a kustomization inflates.
type inflation struct {
	name string
	// dir is the folder of the chart; empty where it is not in the repository.
	dir  string
	item *yamlpos.Value
}

// inflations lists the charts of a kustomization.
func (r *Repository) inflations(dir string, v *yamlpos.Value) []inflation {
	list := v.At("helmCharts")
	if list == nil {
		return nil
	}
	home := cmp.Or(v.TextAt("helmGlobals", "chartHome"), chartHome)
	var all []inflation
	for _, item := range list.Items {
		one := inflation{name: item.TextAt("name"), item: item}
		if p := path.Join(dir, home, one.name); r.charts[p] {
			one.dir = p
		}
		all = append(all, one)
	}
	return all
}

// makesApplications reports whether a chart makes Applications, as far as it is in
// the repository or its values tell.
func (r *Repository) makesApplications(one inflation) bool {
	if one.dir == "" {
		return one.name == bundle
	}
	return r.templateOf(one.dir, 0) != "" ||
		slices.ContainsFunc(r.dependencies(one.dir), func(v *yamlpos.Value) bool { return v.TextAt("name") == bundle })
}

// hasCharts reports whether a kustomization inflates charts.
func (r *Repository) hasCharts(dir string) bool {
	file := kustomizationFile(r.tree, dir)
	if file == "" {
		return false
	}
	data, err := r.tree.Read(file)
	if err != nil {
		return false
	}
	v, err := yamlpos.ParseOne(file, data)
	return err == nil && slices.ContainsFunc(r.inflations(dir, v), func(one inflation) bool { return one.dir != "" || one.name != bundle })
}

// inflate makes the manifests of the charts of a kustomization that make
// Applications. Others are rendered with the component that stands for what lies
// beside the Applications.
func (g *guardedFS) inflate(dir string, v *yamlpos.Value) []any {
	r := g.repository
	var resources []any
	for _, one := range r.inflations(dir, v) {
		if !r.makesApplications(one) {
			continue
		}
		text, err := r.inflated(g.ctx, dir, one)
		if err != nil {
			g.leftOut = append(g.leftOut, leftOut{at: one.item.Position, what: fmt.Sprintf("the chart %s makes Applications and cannot be rendered: %v", one.name, err)})
			continue
		}
		name := fmt.Sprintf("ladder-chart-%d.yaml", len(g.made))
		g.made[path.Join(dir, name)] = made{text, one.item.Position}
		resources = append(resources, name)
	}
	return resources
}

// made is a file that is not in the repository, but what a chart of it makes.
type made struct {
	text []byte
	at   finding.Position
}

// inflated renders a chart with the values that its kustomization gives it. Source:
// kustomize, HelmChartInflationGenerator.
func (r *Repository) inflated(ctx context.Context, dir string, one inflation) ([]byte, error) {
	at := one.item.Position
	src := component.Source{
		Kind: component.Chart, Path: one.dir, ReleaseName: cmp.Or(one.item.TextAt("releaseName"), one.name),
		SkipCRDs: !boolAt(one.item, "includeCRDs"), Position: at,
	}
	files := []string{one.item.TextAt("valuesFile")}
	files = append(files, strs(one.item.At("additionalValuesFiles"))...)
	for _, file := range files {
		if file != "" {
			src.ValueFiles = append(src.ValueFiles, component.ValueFile{Path: path.Join(dir, file), Position: at})
		}
	}
	if inline := one.item.At("valuesInline"); inline != nil {
		src.Values, _ = inline.Any().(map[string]any)
	}
	c := component.Component{
		Name: src.ReleaseName, Namespace: cmp.Or(one.item.TextAt("namespace"), defaultNamespace), Phase: component.NoPhase,
		Sources: []component.Source{src}, Position: at,
	}
	stub := &yamlpos.Value{Kind: yamlpos.Map, Position: at}
	of := document{value: stub, written: stub}
	var documents []document
	if one.dir == "" {
		documents = bundledObjects(r.layered(of, "", c), c.Namespace)
	} else {
		documents = r.bundled(of, one.dir, c)
	}
	if one.dir != "" && r.templateOf(one.dir, 0) != "" {
		if r.opts.Renderer == nil {
			return nil, fmt.Errorf("the chart %s is not rendered here", one.dir)
		}
		objects, err := r.opts.Renderer.Component(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("render the chart %s: %w", one.dir, err)
		}
		for _, o := range objects {
			v := yamlpos.FromAny(o.Object, at)
			documents = append(documents, document{value: v, written: v})
		}
	}
	r.learn(documents)
	var text bytes.Buffer
	for _, d := range documents {
		one, err := yaml.Marshal(d.value.Any())
		if err != nil {
			return nil, fmt.Errorf("write an object of the chart: %w", err)
		}
		text.WriteString("---\n")
		text.Write(one)
	}
	return text.Bytes(), nil
}
