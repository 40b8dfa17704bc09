package argocd

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
)

// withoutTemplates leaves Applications out whose names the API server refuses, that
// nothing applies and no command does, where there are others: somebody copies them and
// gives the copy a name. What another tool fills in may be a name then, and one that lies
// among Applications of good names and takes what is there is only misnamed.
func (r *Repository) withoutTemplates(ctx context.Context, roots []entry, single []document) (left []document, told []finding.Finding) {
	named := map[string]bool{} // folders
	for _, d := range single {
		if folder := path.Dir(d.position().File); descriptor.IsName(d.name()) {
			named[folder] = true
		}
	}
	isTemplate := func(d document) bool {
		file := d.position().File
		return !descriptor.IsName(d.name()) && !hasPlaceholder(d.name()) && !r.isHanded(ctx, file) && (!named[path.Dir(file)] || r.lacksPath(d))
	}
	var templates []document
	for _, d := range single {
		if isTemplate(d) {
			templates = append(templates, d)
		}
	}
	if len(templates) == 0 || len(templates) == len(single) && len(roots) == 0 {
		return single, nil
	}
	return slices.DeleteFunc(slices.Clone(single), isTemplate), []finding.Finding{copied(templates)}
}

// isFilledIn reports whether an object is a template with placeholders beside what a program has
// made of it, as root.tmpl.yaml beside root.yaml is.
func (r *Repository) isFilledIn(d document) bool {
	file := d.position().File
	ending := path.Ext(file)
	stem := strings.TrimSuffix(file, ending)
	made := strings.TrimSuffix(stem, path.Ext(stem)) + ending
	if !slices.Contains([]string{".tmpl", ".tpl", ".template"}, path.Ext(stem)) {
		return false
	}
	data, err := r.tree.Read(file)
	return err == nil && hasPlaceholder(string(data)) && slices.ContainsFunc(r.files[made], func(o document) bool { return o.kind() == d.kind() && o.name() == d.name() })
}

// lacksPath reports whether an Application names a path of the repository that is not there.
func (r *Repository) lacksPath(d document) bool {
	return slices.ContainsFunc(d.sources(), func(s source) bool {
		dir, ok := r.local(s)
		return ok && !r.there(dir)
	})
}

// copied tells of templates that are nobody's platform, so that nothing lacks them.
func copied(templates []document) finding.Finding {
	first := templates[0]
	if len(templates) == 1 {
		return newFinding(RuleNotRead, finding.Info, first.position(), "",
			"the Application %s is not read: nothing applies it and the API server takes no such name, so it is taken for a template to be copied", first.name())
	}
	names := make([]string, len(templates))
	for i, d := range templates {
		names[i] = d.name()
	}
	return newFinding(RuleNotRead, finding.Info, first.position(), "",
		"%d Applications are not read: nothing applies them and the API server takes no such names, so they are taken for templates to be copied (%s)", len(templates), few(names))
}

// copiedCluster tells of a Secret of a cluster that is none yet.
func copiedCluster(secret document) finding.Finding {
	return newFinding(RuleNotRead, finding.Info, secret.position(), "",
		"the cluster of Secret %s is not read: the API server takes no such name, so it is taken for a template to be copied", secret.name())
}
