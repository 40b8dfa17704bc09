package argocd

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// withoutParents takes the parents away that are assumed where commands of the repository
// apply all that they would: kubectl heeds no waves, and no Application applies these.
func (w *walk) withoutParents(ctx context.Context, elsewhere map[string]string) {
	r := w.repository
	below := map[string][]document{}
	kept := map[string]bool{} // the parents of what no command applies
	for _, root := range w.environment.roots {
		d := root.document
		if d.value == nil || d.chart != nil {
			continue
		}
		dir := path.Dir(d.position().File)
		parent, assumed := elsewhere[dir]
		switch {
		case root.byHand:
			below[dir] = append(below[dir], d)
		case assumed:
			below[parent] = append(below[parent], d)
			_, byHand := r.appliedAt(ctx, d.position().File)
			kept[parent] = kept[parent] || !byHand
		}
	}
	maps.DeleteFunc(elsewhere, func(_, parent string) bool { return !kept[parent] })
	for _, folder := range slices.Sorted(maps.Keys(below)) {
		if !kept[folder] {
			w.unheeded(ctx, below[folder])
		}
	}
}

// unheeded tells of Applications and ApplicationSets with different waves that commands
// apply.
func (w *walk) unheeded(ctx context.Context, applications []document) {
	r := w.repository
	values := map[int]bool{}
	var first document
	var names []string
	for _, d := range applications {
		values[r.wave(d)] = true
		if writtenWave(d).Written == "" {
			continue
		}
		names = append(names, d.name())
		if first.value == nil {
			first = d
		}
	}
	if len(values) < 2 {
		return
	}
	f := newFinding(RuleUnheeded, finding.Warning, writtenWave(first).Position, "", "")
	var commands []string
	for _, d := range applications {
		by, _ := r.appliedAt(ctx, d.position().File)
		if writtenWave(d).Written == "" || slices.Contains(commands, by.File) {
			continue
		}
		commands = append(commands, by.File)
		f.Evidence = append(f.Evidence, finding.Evidence{Text: d.name() + " is applied by hand", File: by.File, Line: by.Line})
	}
	applies := "applies"
	if len(commands) > 1 {
		applies = "apply"
	}
	f.Message = fmt.Sprintf("the sync waves of %s order nothing: %s %s them with kubectl, and no Application does", few(names), few(commands), applies)
	f.Fix.Summary = "have an Application apply the folder instead, or take the waves away"
	r.findings = append(r.findings, f)
}
