package argocd

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// leftBelow tells of the Applications among those that nothing applies which lie in
// subfolders of what an Application applies, and returns the others: without
// directory.recurse a source of plain YAML is the files of its folder. Source: Argo CD,
// directory sources.
func (w *walk) leftBelow(ctx context.Context, unapplied []document) (found []finding.Finding, rest []document) {
	if len(unapplied) == 0 {
		return nil, nil
	}
	r := w.repository
	takers := slices.Clone(w.parents)
	components := make([]model.Component, len(w.met))
	for i, m := range w.met {
		components[i] = m.component
		if d := m.document; d.value != nil && d.chart == nil {
			takers = append(takers, d)
		}
	}
	named := r.namedFolders(components, unapplied)
	for _, d := range takers {
		for _, to := range r.flat(d, unapplied) {
			var left []document
			unapplied = slices.DeleteFunc(slices.Clone(unapplied), func(app document) bool {
				forgotten := r.forgotten(ctx, app, to.Path, named)
				if forgotten {
					left = append(left, app)
				}
				return forgotten
			})
			if len(left) > 0 {
				found = append(found, r.forgottenBelow(d, to, left))
				w.told[to.Position] = true
			}
		}
	}
	return found, unapplied
}

// flat are the sources of plain YAML of an Application in whose subfolders some of the
// others lie, and which take none of these.
func (r *Repository) flat(d document, others []document) []model.Source {
	around := func(s source) bool {
		dir, ok := r.local(s)
		return ok && slices.ContainsFunc(others, func(o document) bool {
			rel, ok := belowFolder(dir, o.position().File)
			return ok && strings.Contains(rel, "/")
		})
	}
	if !slices.ContainsFunc(d.sources(), around) {
		return nil
	}
	before := len(r.findings) // what is wrong with it is told where it is read
	c := r.component(d, "", nil)
	r.findings = r.findings[:before]
	return slices.DeleteFunc(c.Sources, func(to model.Source) bool {
		if to.Kind != model.Manifests || to.Recurse || to.Path == "." || !r.tells(d, to) {
			return true
		}
		own, _ := r.laid(to)
		// What applies other things only is no parent.
		return r.applicationsIn(to.Path) == 0 && (own.object || own.unknown)
	})
}

// applicationsIn counts what makes or is an Application in the files of a folder itself.
func (r *Repository) applicationsIn(dir string) int {
	n := 0
	for _, file := range r.within(dir) {
		if rel, ok := belowFolder(dir, file); !ok || strings.Contains(rel, "/") {
			continue
		}
		for _, d := range r.files[file] {
			if d.applies() {
				n++
			}
		}
	}
	return n
}

// forgotten reports whether an Application lies in a subfolder of dir, and nothing says
// that it is left out on purpose or that something else may apply it.
func (r *Repository) forgotten(ctx context.Context, app document, dir string, named [][]string) bool {
	file := app.position().File
	rel, ok := belowFolder(dir, file)
	if !ok || !strings.Contains(rel, "/") || hidden(rel) || isExample(file) || mayBeArchive(rel) != "" || repofs.IsUnused(file) {
		return false
	}
	chosen := slices.ContainsFunc(r.leftOut, func(d document) bool { return d.key() == app.key() })
	return !chosen && !r.isHanded(ctx, file) && !reaches(named, dir, path.Dir(file))
}

// forgottenBelow tells of Applications in subfolders of a source. Where it takes more than
// it leaves out, these may be meant to wait.
func (r *Repository) forgottenBelow(d document, to model.Source, left []document) finding.Finding {
	own := r.applicationsIn(to.Path)
	severity := finding.Warning
	if own > len(left) {
		severity = finding.Info
	}
	at := to.Position
	if i := slices.IndexFunc(d.sources(), func(s source) bool { return s.position == to.Position }); i >= 0 {
		at = d.sources()[i].at("path")
	}
	only := "nothing"
	if own > 0 {
		only = "only what lies in " + to.Path + " itself"
	}
	are := "are"
	if len(left) == 1 {
		are = "is"
	}
	f := newFinding(RuleNothing, severity, at, d.name(), "%s applies %s: %s in its subfolders %s left out, since directory.recurse is not set",
		d.name(), only, finding.Count(len(left), "Application"), are)
	f.Fix.Summary = "set directory.recurse: true, or have an Application apply each subfolder"
	reason := "it lies in a subfolder of what " + d.name() + " applies, which does not recurse"
	var manifests []laidManifest
	for _, app := range left {
		manifests = append(manifests, laidManifest{app.kind() + " " + app.name(), app.position()})
		f.Unread = append(f.Unread, finding.Unread{Name: app.name(), Position: app.position(), Reason: reason})
	}
	f.Evidence = leftOutOf(manifests)
	return f
}
