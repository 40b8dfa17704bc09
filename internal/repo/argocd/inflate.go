package argocd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// chartHome is where the charts of a kustomization are, unless it says so.
// Source: kustomize, HelmDefaultHome.
const chartHome = "charts"

// inflation is a chart that a kustomization inflates.
type inflation struct {
	name string
	// dir is the folder of the chart; empty where it is not in the repository.
	dir  string
	item *yamldoc.Value
}

// inflations lists the charts of a kustomization: those of helmCharts, and those
// of the generator behind it, where generators name it.
func (r *Repository) inflations(dir string, v *yamldoc.Value) []inflation {
	var all []inflation
	add := func(item *yamldoc.Value) {
		home := cmp.Or(item.TextAt("chartHome"), v.TextAt("helmGlobals", "chartHome"), chartHome)
		one := inflation{name: item.TextAt("name"), item: item}
		if p := path.Join(dir, home, one.name); r.charts[p] {
			one.dir = p
		}
		all = append(all, one)
	}
	if list := v.At("helmCharts"); list != nil {
		for _, item := range list.Items {
			add(item)
		}
	}
	if list := v.At("generators"); list != nil {
		for _, item := range list.Items {
			for _, d := range plugin(r.tree, dir, item) {
				if isInflator(d) {
					add(d)
				}
			}
		}
	}
	return all
}

// isInflator reports whether a plugin is the generator behind helmCharts. Source:
// kustomize, HelmChartInflationGenerator.
func isInflator(d *yamldoc.Value) bool {
	return d.TextAt("apiVersion") == "builtin" && d.TextAt("kind") == "HelmChartInflationGenerator"
}

// plugin reads a plugin of a kustomization, named by its file or written in place, or those of another
// kustomization, which is named by its folder and has nothing but files of them.
func plugin(tree *repofs.Tree, dir string, item *yamldoc.Value) []*yamldoc.Value {
	file, text := path.Join(dir, item.Text), []byte(item.Text)
	if own := kustomizationFile(tree, file); own != "" && !strings.Contains(item.Text, "\n") {
		data, err := tree.Read(own)
		if err != nil {
			return nil
		}
		v, err := yamldoc.ParseKustomization(own, data)
		if err != nil {
			return nil
		}
		var all []*yamldoc.Value
		for _, e := range v.Entries {
			switch e.Key {
			case "apiVersion", "kind":
			case "resources":
				for _, one := range e.Value.Items {
					if !tree.IsFile(path.Join(file, one.Text)) {
						return nil
					}
					all = append(all, plugin(tree, file, one)...)
				}
			default:
				return nil
			}
		}
		return all
	}
	if tree.IsFile(file) {
		data, err := tree.Read(file)
		if err != nil {
			return nil
		}
		text = data
	}
	documents, err := yamldoc.Parse(file, text)
	if err != nil {
		return nil
	}
	return documents
}

// makesApplications reports whether a chart makes Applications, as far as it is in
// the repository or its values tell.
func (r *Repository) makesApplications(one inflation) bool {
	if one.dir == "" {
		return isBundle(one.name)
	}
	return r.templateOf(one.dir, 0) != "" ||
		slices.ContainsFunc(r.dependencies(one.dir), func(v *yamldoc.Value) bool { return isBundle(v.TextAt("name")) })
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
	v, err := yamldoc.ParseKustomization(file, data)
	return err == nil && slices.ContainsFunc(r.inflations(dir, v), func(one inflation) bool { return one.dir != "" || !isBundle(one.name) })
}

// inflate makes the manifests of the charts of a kustomization that make
// Applications. Others are rendered with the component that stands for what lies
// beside the Applications.
func (g *kustomizeView) inflate(dir string, v *yamldoc.Value) []any {
	r := g.repository
	var resources []any
	for _, one := range r.inflations(dir, v) {
		if !r.makesApplications(one) {
			continue
		}
		name := fmt.Sprintf("ladder-chart-%d.yaml", len(g.made))
		file := path.Join(dir, name)
		text, err := r.inflated(g.ctx, dir, one, file)
		if err != nil {
			g.leftOut = append(g.leftOut, leftOut{at: one.item.Position, what: fmt.Sprintf("the chart %s makes Applications and cannot be rendered: %v", one.name, err)})
			continue
		}
		g.made[file] = made{text, one.item.Position}
		resources = append(resources, name)
	}
	return resources
}

// made is a file that is not in the repository, but what a chart of it makes.
type made struct {
	text []byte
	at   finding.Position
}

// componentOf is a chart with the values that its kustomization gives it.
func componentOf(dir string, one inflation) model.Component {
	at := one.item.Position
	src := model.Source{
		Kind: model.Chart, Path: one.dir, ReleaseName: cmp.Or(one.item.TextAt("releaseName"), one.name),
		SkipCRDs: !boolAt(one.item, "includeCRDs"), Position: at,
	}
	layers := []string{one.item.TextAt("valuesFile")}
	layers = append(layers, strs(one.item.At("additionalValuesFiles"))...)
	for _, file := range layers {
		if file != "" {
			src.ValueFiles = append(src.ValueFiles, model.ValueFile{Path: path.Join(dir, file), Position: at})
		}
	}
	if inline := one.item.At("valuesInline"); inline != nil {
		src.Values, _ = inline.Any().(map[string]any)
	}
	return model.Component{
		Name: src.ReleaseName, Namespace: cmp.Or(one.item.TextAt("namespace"), defaultNamespace), Phase: model.NoPhase,
		Sources: []model.Source{src}, Position: at,
	}
}

// inflated renders a chart with the values that its kustomization gives it, as the
// text of a file that each object is marked with. Source: kustomize,
// HelmChartInflationGenerator.
func (r *Repository) inflated(ctx context.Context, dir string, one inflation, file string) ([]byte, error) {
	at, c := one.item.Position, componentOf(dir, one)
	stub := &yamldoc.Value{Kind: yamldoc.Map, Position: at}
	of := document{value: stub, written: stub}
	var documents []document
	if one.dir == "" {
		documents = makesOf(one.name, r.layered(of, "", c), c.Namespace)
	} else {
		documents = r.bundled(ctx, of, one.dir, c)
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
			v := yamldoc.FromAny(o.Object, at)
			documents = append(documents, document{value: v, written: v})
		}
	}
	r.learn(ctx, documents)
	var text bytes.Buffer
	for _, d := range documents {
		one, err := yaml.Marshal(marked(d.value.Any(), file))
		if err != nil {
			return nil, fmt.Errorf("write an object of the chart: %w", err)
		}
		text.WriteString("---\n")
		text.Write(one)
	}
	return text.Bytes(), nil
}

// marked is an object with the annotation of the made file.
func marked(object any, file string) any {
	o, _ := object.(map[string]any)
	metadata, _ := o["metadata"].(map[string]any)
	if metadata == nil {
		return object
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[madeAnnotation] = file
	metadata["annotations"] = annotations
	return object
}
