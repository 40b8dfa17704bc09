package argocd

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// yieldChart renders a chart whose templates mention Argo CD's own kinds; others
// yield nothing that makes their Application a parent.
func (r *Repository) yieldChart(ctx context.Context, d document, dir string, c model.Component) (contents, error) {
	template := r.templateOf(dir, 0)
	made := r.bundled(ctx, d, dir, c)
	if template == "" {
		if len(made) == 0 {
			return contents{}, nil
		}
		return contents{documents: made, folders: []string{dir}, more: true}, nil
	}
	if r.opts.Renderer == nil {
		r.notRead(d.position(), d.name(), "the chart %s templates Applications (%s), which are not read", dir, template)
		return contents{}, nil
	}
	// What makes Applications is read with the values that are known.
	c.Sources = slices.Clone(c.Sources)
	for i := range c.Sources {
		c.Sources[i].Incomplete = ""
	}
	objects, err := r.opts.Renderer.Component(ctx, c)
	lacking := err != nil && slices.ContainsFunc(objects, isArgoCDs) &&
		!slices.ContainsFunc(r.dependencies(dir), func(v *yamldoc.Value) bool { return v.At("import-values") != nil })
	if lacking {
		err = nil // what is lacking is a dependency or another source, which is told of the component
	}
	assumed := err != nil && d.chart != nil
	if assumed {
		objects, err = r.withSections(ctx, d, dir, c, err)
	}
	if err != nil {
		if ctx.Err() != nil {
			return contents{}, ctx.Err()
		}
		r.notRead(d.position(), d.name(), "the chart %s templates Applications (%s) and cannot be rendered: %v", dir, template, err)
		return contents{}, nil
	}
	y := contents{documents: made, folders: []string{dir}, more: lacking}
	if len(made) == 0 && !slices.ContainsFunc(objects, isArgoCDs) {
		objects = r.switchedOn(ctx, d, dir, c)
		assumed = true
	}
	values := r.layered(d, path.Join(dir, "values.yaml"), c)
	for _, o := range objects {
		at := o.Origin.Position()
		if at.Line == 0 {
			at.Line = 1
		}
		v := yamldoc.FromAny(o.Object, at)
		made := document{value: v, written: v, rendered: true, assumed: assumed}
		if made.applies() {
			template := r.templatedBy(dir, values, made.name(), at)
			if wave := writtenWave(made); wave.Written != "" {
				made.wave = template.source(waveAnnotation, wave.Written)
			}
			if made.isApplication() {
				template.place(v)
			}
		}
		y.documents = append(y.documents, made)
	}
	if !slices.ContainsFunc(y.documents, document.applies) {
		return contents{}, nil
	}
	r.learn(ctx, y.documents)
	return y, nil
}

// isArgoCDs reports whether an object is of Argo CD.
func isArgoCDs(o manifest.Object) bool { return o.GroupVersionKind().Group == "argoproj.io" }

// maxCharts bounds how charts of the repository depend on each other.
const maxCharts = 10

// templateOf finds a template of a chart, or of a chart that it depends on, that
// mentions Argo CD's own kinds; "" for none.
func (r *Repository) templateOf(dir string, depth int) string {
	own, below := path.Join(dir, "templates")+"/", path.Join(dir, "charts")+"/"
	for _, file := range r.templated {
		if strings.HasPrefix(file, own) || strings.HasPrefix(file, below) {
			return file
		}
	}
	if depth == maxCharts {
		return ""
	}
	for _, dep := range r.dependencies(dir) {
		local, ok := strings.CutPrefix(dep.TextAt("repository"), "file://")
		if beside := r.besideCharts(dir)[dep.TextAt("name")]; !ok && beside != "" {
			if file := r.templateOf(beside, depth+1); file != "" {
				return file
			}
		}
		if ok {
			if file := r.templateOf(path.Join(dir, local), depth+1); file != "" {
				return file
			}
		}
	}
	return ""
}

// dependencies are the entries of a chart's Chart.yaml.
func (r *Repository) dependencies(dir string) []*yamldoc.Value {
	for _, name := range []string{"Chart.yaml", "requirements.yaml"} {
		file := path.Join(dir, name)
		if !r.present[file] {
			continue
		}
		data, err := r.tree.Read(file)
		if err != nil {
			continue
		}
		v, err := yamldoc.ParseOne(file, data)
		if list := v.At("dependencies"); err == nil && list != nil {
			return list.Items
		}
	}
	return nil
}

// bundled are the objects that a chart's dependency argocd-apps makes: what it
// makes of its values is known, so that it need not be fetched.
func (r *Repository) bundled(ctx context.Context, d document, dir string, c model.Component) []document {
	var all []document
	for _, dep := range r.dependencies(dir) {
		name := dep.TextAt("name")
		if !isBundle(name) {
			continue
		}
		key := dep.TextAt("alias")
		if key == "" {
			key = name
		}
		values := r.layered(d, path.Join(dir, "values.yaml"), c)
		all = append(all, makesOf(name, values.At(key), c.Namespace)...)
	}
	r.learn(ctx, all)
	return all
}

// layered merges the values of a chart with those of a source. What cannot be
// read is left out; rendering tells of it.
func (r *Repository) layered(d document, own string, c model.Component) *yamldoc.Value {
	merged := &yamldoc.Value{Kind: yamldoc.Map, Position: d.position()}
	names := []string{}
	if own != "" {
		names = append(names, own)
	}
	for _, s := range c.Sources {
		for _, f := range s.ValueFiles {
			names = append(names, f.Path)
		}
	}
	for _, name := range names {
		data, err := r.tree.Read(name)
		if err != nil {
			continue
		}
		if v, err := yamldoc.ParseOne(name, data); err == nil && v.Kind == yamldoc.Map {
			merged = mergeValues(merged, v)
		}
	}
	for _, s := range c.Sources {
		if len(s.Values) > 0 {
			merged = mergeValues(merged, yamldoc.FromAny(s.Values, s.Position))
		}
	}
	return merged
}

// mergeValues puts values over others as Helm does.
func mergeValues(base, over *yamldoc.Value) *yamldoc.Value {
	if base == nil || base.Kind != yamldoc.Map || over.Kind != yamldoc.Map {
		return over
	}
	out := base
	for _, e := range over.Entries {
		if e.Value.Kind == yamldoc.Null {
			out = out.With(e.Key, nil)
			continue
		}
		out = out.With(e.Key, mergeValues(base.At(e.Key), e.Value))
	}
	return out
}

// bundledObjects are the objects that the values of argocd-apps stand for. The
// values hold maps by name, in older versions lists.
func bundledObjects(values *yamldoc.Value, namespace string) []document {
	var all []document
	for _, kind := range []struct{ key, kind string }{
		{"projects", "AppProject"}, {"applications", "Application"}, {"applicationsets", "ApplicationSet"},
	} {
		section := values.At(kind.key)
		if section == nil {
			continue
		}
		for _, e := range section.Entries {
			all = append(all, bundledObject(kind.kind, e.Key, e.Value, namespace))
		}
		for _, item := range section.Items {
			all = append(all, bundledObject(kind.kind, item.TextAt("name"), item, namespace))
		}
	}
	return all
}

// bundledObject builds one object: what the chart puts into metadata is beside
// what it puts into spec.
func bundledObject(kind, name string, v *yamldoc.Value, namespace string) document {
	at := v.Position
	entry := func(key string, value *yamldoc.Value) yamldoc.Entry {
		return yamldoc.Entry{Key: key, Value: value, Position: value.Position}
	}
	metadata := &yamldoc.Value{Kind: yamldoc.Map, Position: at, Entries: []yamldoc.Entry{entry("name", yamldoc.Text(name, at))}}
	if own := v.TextAt("namespace"); own != "" {
		namespace = own
	}
	metadata.Entries = append(metadata.Entries, entry("namespace", yamldoc.Text(namespace, at)))
	for _, key := range []string{"additionalLabels", "additionalAnnotations"} {
		if found := v.At(key); found != nil && found.Kind == yamldoc.Map {
			metadata.Entries = append(metadata.Entries, entry(strings.ToLower(strings.TrimPrefix(key, "additional")), found))
		}
	}
	spec := &yamldoc.Value{Kind: yamldoc.Map, Position: at}
	for _, e := range v.Entries {
		switch e.Key {
		case "name", "namespace", "additionalLabels", "additionalAnnotations", "finalizers":
		default:
			spec.Entries = append(spec.Entries, e)
		}
	}
	object := &yamldoc.Value{Kind: yamldoc.Map, Position: at, Entries: []yamldoc.Entry{
		entry("apiVersion", yamldoc.Text("argoproj.io/v1alpha1", at)), entry("kind", yamldoc.Text(kind, at)),
		entry("metadata", metadata), entry("spec", spec),
	}}
	return document{value: object, written: object}
}
