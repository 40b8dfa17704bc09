package analysis

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
)

// shownTemplates bounds how many templates are named that make nothing.
const shownTemplates = 4

// nothing tells of an Application whose charts and kustomizations render to no object at all.
// Folders of plain YAML are judged by their files, as they are read.
func (r *Result) nothing(ctx context.Context, c model.Component) []finding.Finding {
	objects, rendered := r.Objects[c.Name]
	if !rendered || len(objects) > 0 || c.AppOfApps || c.Assumed || c.Solved || !r.isApplication(c) {
		return nil
	}
	first := slices.IndexFunc(c.Sources, func(s model.Source) bool { return s.Kind != model.Manifests })
	if first < 0 {
		return nil
	}
	var switched, templates []string
	for _, s := range c.Sources {
		of, off, whole := r.templatesOf(ctx, s)
		if !whole {
			return nil
		}
		switched, templates = append(switched, off...), append(templates, of...)
	}
	source := c.Sources[first]
	f := finding.Finding{
		Rule: argocd.RuleNothing, Severity: finding.Warning, Scope: finding.Rule, Component: c.Name, Position: source.Position, Basis: finding.Rendered,
		Message: fmt.Sprintf("%s applies nothing: the kustomization %s builds no object", c.Name, source.Path),
		Fix:     finding.Fix{Summary: "name what is to be built, or drop the Application"},
	}
	switch {
	case source.Kind == model.Chart && len(templates) == 0:
		f.Severity = finding.Info // somebody has nothing to apply yet, or has switched off what it depends on
		f.Message = fmt.Sprintf("%s applies nothing: the chart %s has no templates of its own", c.Name, source.Path)
		f.Fix.Summary = "add what it is for, or drop the Application"
	case source.Kind == model.Chart:
		f.Message = fmt.Sprintf("%s applies nothing: the chart %s renders no object with the values that it is given", c.Name, source.Path)
		f.Fix.Summary = "give the values that its templates ask for, or drop the Application"
		if len(switched) == len(templates) {
			f.Severity = finding.Info // somebody has switched it off
		}
	}
	if c.Set != "" {
		f.Severity = finding.Info // one of the clusters may have no use for it
	}
	for _, file := range templates[:min(len(templates), shownTemplates)] {
		f.Evidence = append(f.Evidence, finding.Evidence{Text: "makes no object", File: file, Line: 1})
	}
	return []finding.Finding{f}
}

// asksCluster matches what a template asks the cluster for.
var asksCluster = lazyregexp.New(`Capabilities|\blookup\b`)

// isSwitch matches a template that begins with a condition on a value.
var isSwitch = lazyregexp.New(`^(?:\s|#.*\n|\{\{-?\s*/\*[^*]*\*/\s*-?\}\})*\{\{-?\s*if (?:and |or |not |\()*(?:\.|\$\.)Values\.`)

// templatesOf are the templates of a chart that may make objects, and those of them that a value
// switches off. whole is set where it is certain that the source renders in a cluster to what it
// renders to here.
func (r *Result) templatesOf(ctx context.Context, s model.Source) (all, switched []string, whole bool) {
	if s.Path == "" || !r.tree.IsDir(s.Path) || s.Revision+s.Refused+s.Incomplete != "" ||
		slices.ContainsFunc(s.ValueFiles, func(f model.ValueFile) bool { return !r.tree.IsFile(f.Path) }) {
		return nil, nil, false
	}
	files, err := r.tree.Find(ctx, s.Path, func(string) bool { return true })
	if err != nil {
		return nil, nil, false
	}
	for _, file := range files {
		if path.Ext(file) == ".tgz" {
			return nil, nil, false
		}
		if !strings.Contains(file, "/templates/") {
			continue
		}
		text, err := r.tree.Read(file)
		if err != nil || asksCluster.Match(text) {
			return nil, nil, false
		}
		if ext := path.Ext(file); ext != ".yaml" && ext != ".yml" || strings.HasPrefix(path.Base(file), "_") || !strings.HasPrefix(file, s.Path+"/templates/") {
			continue
		}
		all = append(all, file)
		if isSwitch.Match(text) {
			switched = append(switched, file)
		}
	}
	return all, switched, true
}
