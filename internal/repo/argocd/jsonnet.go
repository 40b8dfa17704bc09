package argocd

import (
	"bytes"
	"context"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// jsonnet reads what a source gives its Jsonnet files; nil for nothing. Source: Argo
// CD, spec.source.directory.jsonnet, in whose values the variables of the build are
// filled in.
func (r *Repository) jsonnet(d document, s source) *model.Jsonnet {
	section := s.value.At("directory", "jsonnet")
	if section == nil || section.Kind != yamldoc.Map || len(section.Entries) == 0 {
		return nil
	}
	variables := func(key string) (all []model.JsonnetVariable) {
		if list := section.At(key); list != nil {
			for _, item := range list.Items {
				all = append(all, model.JsonnetVariable{
					Name: item.TextAt("name"), Value: withVariables(item.TextAt("value"), d, s), Code: boolAt(item, "code"),
				})
			}
		}
		return all
	}
	j := &model.Jsonnet{ExtVars: variables("extVars"), TLAs: variables("tlas")}
	libs := section.At("libs")
	if libs == nil {
		return j
	}
	for _, item := range libs.Items {
		folder, ok := r.existing(item.Text)
		if !ok {
			r.findings = append(r.findings, newFinding(RuleInvalid, finding.Info, item.Position, d.name(), "the folder of Jsonnet libraries %s does not exist, so that nothing is imported from it", item.Text))
			continue
		}
		j.Libs = append(j.Libs, folder)
	}
	return j
}

// yieldJsonnet evaluates a folder of which files are Jsonnet. The objects stand in
// files that hold no YAML, so that only the whole folder tells what it applies.
func (r *Repository) yieldJsonnet(ctx context.Context, d document, s source, files []string, y contents) (contents, error) {
	if r.opts.Renderer == nil {
		if r.mentionsApplications(files) {
			r.notRead(d.position(), d.name(), "%s is Jsonnet, which is not read", s.path())
		}
		return y, nil
	}
	c := r.only(d, s)
	objects, err := r.opts.Renderer.Component(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			return contents{}, ctx.Err()
		}
		// Of a component it is told when that is rendered.
		if r.mentionsApplications(files) {
			r.notRead(d.position(), d.name(), "what %s applies is not known: %v", s.path(), err)
		}
		return y, nil
	}
	made := contents{folders: y.folders}
	for _, o := range objects {
		at := o.Origin.Position()
		at.Line = max(at.Line, 1)
		v := yamldoc.FromAny(o.Object, at)
		made.documents = append(made.documents, document{value: v, written: v, rendered: true})
		if folder := path.Dir(at.File); !slices.Contains(made.folders, folder) {
			made.folders = append(made.folders, folder)
		}
	}
	if !made.applies() {
		return y, nil
	}
	r.learn(ctx, made.documents)
	return made, nil
}

// mentionsApplications reports whether one of the files names the group of Argo CD.
func (r *Repository) mentionsApplications(files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		data, err := r.tree.Read(file)
		return err == nil && bytes.Contains(data, []byte("argoproj.io/"))
	})
}

// jsonnetFiles are those of a folder of plain YAML that are evaluated.
func (r *Repository) jsonnetFiles(dir string, directory *yamldoc.Value) (files []string) {
	for _, file := range r.under(dir) {
		if rel, ok := below(dir, file); ok && path.Ext(file) == ".jsonnet" && chosen(directory, rel) {
			files = append(files, file)
		}
	}
	return files
}
