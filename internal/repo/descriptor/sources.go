package descriptor

import (
	"fmt"
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

func (d *decoder) sources(f *yamldoc.Fields) {
	if e, ok := f.Entry("chart"); ok {
		d.chart(f, e)
	}
	for _, kind := range []model.SourceKind{model.Kustomize, model.Manifests} {
		e, ok := f.Entry(string(kind))
		if !ok {
			continue
		}
		s := model.Source{Kind: kind, Position: e.Position}
		written, at := e.Value.Text, e.Value.Position
		if e.Value.Kind != yamldoc.Scalar {
			m := f.Map(string(kind))
			if m == nil {
				continue
			}
			written, at = m.Text("path"), d.c.At(string(kind)+".path")
			s.Recurse = kind == model.Manifests && m.Bool("recurse", false)
			d.unknown(m)
			if written == "" {
				d.refuse(e.Position, "add "+string(kind)+".path", "%s has no path", kind)
				continue
			}
		}
		if s.Path, ok = d.path(written, at); ok {
			d.c.Sources = append(d.c.Sources, s)
		}
	}
	switch {
	case d.ctx.PreArgo:
		d.preArgoPath(f)
	case len(d.c.Sources) == 0 && len(d.fatal) == 0:
		d.folder(f)
	default: // beside a source these are fields of others, unless they say nothing
		for _, key := range []string{"path", "values"} {
			if v := f.Value.At(key); v != nil && v.Kind == yamldoc.Null {
				f.Has(key)
			}
		}
	}
}

// preArgoPath reads "path" of an entry of preArgo by what lies there.
func (d *decoder) preArgoPath(f *yamldoc.Fields) {
	written := f.Text("path")
	if written == "" {
		return
	}
	s := model.Source{Kind: model.Manifests, Recurse: true, Position: d.c.At("path")}
	var ok bool
	if s.Path, ok = d.path(written, s.Position); !ok {
		return
	}
	switch {
	case d.ctx.Tree.IsFile(path.Join(s.Path, "Chart.yaml")):
		s.Kind, s.Recurse, s.ReleaseName = model.Chart, false, d.c.Name
		s.ValueFiles = d.layers()
	case IsKustomization(d.ctx.Tree.IsFile, s.Path):
		s.Kind, s.Recurse = model.Kustomize, false
	}
	d.c.Sources = append(d.c.Sources, s)
}

// IsKustomization reports whether a folder holds a kustomization file, under
// one of the names that kustomize knows.
func IsKustomization(isFile func(string) bool, dir string) bool {
	return isFile(path.Join(dir, "kustomization.yaml")) ||
		isFile(path.Join(dir, "kustomization.yml")) ||
		isFile(path.Join(dir, "Kustomization"))
}

func (d *decoder) chart(f *yamldoc.Fields, e yamldoc.Entry) {
	s := model.Source{Kind: model.Chart, ReleaseName: d.c.Name, Position: e.Position}
	if e.Value.Kind == yamldoc.Scalar {
		var ok bool
		if s.Path, ok = d.path(e.Value.Text, e.Position); ok {
			s.ValueFiles = d.layers()
			d.c.Sources = append(d.c.Sources, s)
		}
		return
	}
	m := f.Map("chart")
	if m == nil {
		return
	}
	written := m.Text("path")
	s.RepoURL = m.Text("repoURL")
	s.Name = m.Text("name")
	s.Version = m.Text("version")
	placed := true
	switch {
	case written != "" && s.Name != "":
		d.refuse(e.Position, "a chart lies in the repository (path) or in a chart repository (repoURL, name, version)", "chart has both path and name")
		return
	case written != "":
		// The rest is read all the same, to tell everything that is wrong.
		s.Path, placed = d.path(written, d.c.At("chart.path"))
	case s.RepoURL == "" || s.Name == "":
		d.refuse(e.Position, "add chart.path, or chart.repoURL, chart.name and chart.version", "chart names no chart")
		return
	}
	if name := m.Text("releaseName"); name != "" {
		s.ReleaseName = name
	}
	s.SkipCRDs = m.Bool("skipCrds", false)
	s.ValueFiles = append(d.layers(), d.valueFiles(m, s.Path)...)
	if values := m.Map("values"); values != nil {
		s.Values, _ = values.Value.Any().(map[string]any)
	}
	s.Parameters = m.TextMap("parameters")
	d.unknown(m)
	if placed {
		d.c.Sources = append(d.c.Sources, s)
	}
}

// layers are the value files of the environment; all may be missing.
func (d *decoder) layers() []model.ValueFile {
	var list []model.ValueFile
	for _, l := range d.ctx.Layers {
		if p, ok := d.path(l.Path, l.Position); ok {
			list = append(list, model.ValueFile{Path: p, Optional: true, Position: l.Position})
		}
	}
	return list
}

func (d *decoder) valueFiles(m *yamldoc.Fields, chart string) []model.ValueFile {
	ignoreMissing := m.Bool("ignoreMissingValueFiles", false)
	e, ok := m.Entry("valueFiles")
	if !ok {
		return nil
	}
	if e.Value.Kind != yamldoc.List {
		m.Wrong("valueFiles", "", "chart.valueFiles is %s, not a list", e.Value.Kind)
		return nil
	}
	return d.fileList(e.Value, "chart.valueFiles", chart, ignoreMissing)
}

// fileList reads a list of value files.
func (d *decoder) fileList(v *yamldoc.Value, of, chart string, ignoreMissing bool) []model.ValueFile {
	var list []model.ValueFile
	for i, item := range v.Items {
		field := fmt.Sprintf("%s[%d]", of, i)
		file := model.ValueFile{Optional: ignoreMissing, Position: item.Position}
		written := item.Text
		switch item.Kind {
		case yamldoc.Map:
			entry := yamldoc.Read(item, field, &d.problems)
			written = entry.Text("path")
			file.Optional = entry.Bool("optional", ignoreMissing)
			d.unknown(entry)
		case yamldoc.Scalar:
		default:
			d.problems.Add(field, item.Position, "", "%s is %s, not a path", field, item.Kind)
			continue
		}
		if written == "" {
			d.problems.Add(field, item.Position, "", "%s has no path", field)
			continue
		}
		var ok bool
		if file.Path, ok = d.path(written, item.Position); !ok {
			continue
		}
		// Argo CD reads value files relative to the chart; so does a file that
		// exists only there.
		if chart != "" && !strings.HasPrefix(written, "$values/") && !d.ctx.Tree.IsFile(file.Path) {
			if below, ok := d.belowChart(chart, written); ok {
				file.Path = below
			}
		}
		list = append(list, file)
	}
	return list
}

func (d *decoder) belowChart(chart, written string) (string, bool) {
	expanded, bad := d.expand(written)
	if bad != "" || path.IsAbs(expanded) {
		return "", false
	}
	below := path.Join(chart, expanded)
	return below, d.ctx.Tree.IsFile(below)
}

// placeholder matches {{ name }}.
var placeholder = lazyregexp.New(`\{\{\s*([^{}]*?)\s*\}\}`)

// expand fills in the placeholders of a path. bad is the first one that is not
// known.
func (d *decoder) expand(written string) (expanded, bad string) {
	expanded = placeholder.ReplaceAllStringFunc(written, func(match string) string {
		switch word := placeholder.FindStringSubmatch(match)[1]; word {
		case "environment":
			return d.ctx.Environment
		case "domain":
			return d.c.Domain
		case "name":
			return d.c.Name
		case "namespace":
			return d.c.Namespace
		default:
			if bad == "" {
				bad = match
			}
			return match
		}
	})
	return expanded, bad
}

// path turns a path as written into one relative to the root of the platform,
// and refuses one that leaves the repository.
func (d *decoder) path(written string, at finding.Position) (string, bool) {
	expanded, bad := d.expand(written)
	if bad != "" {
		d.refuse(at, "use {{environment}}, {{domain}}, {{name}} or {{namespace}}", "path %s has the unknown placeholder %s", written, bad)
		return "", false
	}
	p := strings.TrimPrefix(expanded, "$values/")
	if _, err := d.ctx.Tree.Resolve(p, at); err != nil {
		// What is wrong before placeholders are filled in is one error for all components.
		if _, before := d.ctx.Tree.Resolve(strings.TrimPrefix(written, "$values/"), at); before != nil {
			err = before
		}
		d.fatal = append(d.fatal, err)
		return "", false
	}
	return path.Clean(p), true
}
