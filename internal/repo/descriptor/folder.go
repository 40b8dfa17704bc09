package descriptor

import (
	"bytes"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// folder finds the source of a descriptor that names neither chart nor kustomize nor
// manifests: what lies at its path, and without one what lies beside it, as for an
// ApplicationSet whose template says path: '{{path}}'. Its checks come on top.
func (d *decoder) folder(f *yamldoc.Fields) {
	own := path.Dir(d.c.Position.File)
	beside := slices.Contains([]string{FileName, DisabledFileName}, path.Base(d.c.Position.File))
	written := f.Text("path")
	var s model.Source
	var found bool
	switch {
	case written != "":
		place, ok := d.path(written, d.c.At("path"))
		if !ok {
			return
		}
		if s, found = d.lying(place); !found && beside {
			s, found = d.lying(path.Join(own, place))
		}
		if !found { // what is not there is told when it is rendered, as for manifests
			s = model.Source{Kind: model.Manifests, Path: place}
			if f.Has("values") {
				s.Kind = model.Chart
			}
		}
		s.Position = d.c.At("path")
	case beside:
		if s, found = d.lying(own); !found {
			return
		}
		s.Position = d.c.Position
	default:
		return
	}
	d.folderValues(f, &s)
	d.c.Sources = append(d.c.Sources, s)
}

// folderValues reads the values beside "path": a list of files, or the values themselves.
func (d *decoder) folderValues(f *yamldoc.Fields, s *model.Source) {
	if s.Kind == model.Chart {
		s.ReleaseName, s.ValueFiles = d.c.Name, d.layers()
	}
	e, ok := f.Entry("values")
	switch {
	case !ok:
	case s.Kind != model.Chart:
		f.Wrong("values", "leave them out", "values are for a chart, and %s is none", s.Path)
	case e.Value.Kind == yamldoc.List:
		s.ValueFiles = append(s.ValueFiles, d.fileList(e.Value, "values", s.Path, false)...)
	case e.Value.Kind == yamldoc.Map:
		s.Values, _ = e.Value.Any().(map[string]any)
	default:
		f.Wrong("values", "write a list of files, or the values themselves", "values is %s", e.Value.Kind)
	}
}

// lying says what a folder or file is to Argo CD, which does not look into the folders
// below it. The descriptor is none of its manifests.
func (d *decoder) lying(place string) (model.Source, bool) {
	s := model.Source{Kind: model.Manifests, Path: place}
	switch {
	case d.ctx.Tree.IsFile(path.Join(place, "Chart.yaml")):
		s.Kind = model.Chart
	case IsKustomization(d.ctx.Tree.IsFile, place):
		s.Kind = model.Kustomize
	case d.ctx.Tree.IsFile(place):
	default:
		names, err := d.ctx.Tree.List(place)
		if err != nil {
			return s, false
		}
		manifests := false
		for _, name := range names {
			switch {
			case name == FileName || name == DisabledFileName:
				s.Exclude = "{" + FileName + "," + DisabledFileName + "}"
			case path.Ext(name) == ".jsonnet":
				manifests = true
			case slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)):
				// Files of values alone are no source: nothing of them would be applied.
				text, err := d.ctx.Tree.Read(path.Join(place, name))
				manifests = manifests || err != nil || bytes.Contains(text, []byte("kind"))
			}
		}
		return s, manifests
	}
	return s, true
}
