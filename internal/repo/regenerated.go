package repo

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// regenerated tells of an ApplicationSet or an Application that somebody has generated of the
// descriptors of an environment, where a set that somebody wrote makes Applications of these as
// well. What is generated is not read as a part of the platform, so that nothing else tells.
func (r *Repository) regenerated(ctx context.Context, p *Platform) []finding.Finding {
	at := slices.IndexFunc(p.Components, func(c model.Component) bool { return c.Set != "" })
	if at < 0 {
		return nil
	}
	by := slices.IndexFunc(p.Argo.ApplicationSets, func(set argo.ApplicationSet) bool { return set.Name == p.Components[at].Set })
	if by < 0 {
		return nil
	}
	written := p.Argo.ApplicationSets[by]
	files, err := r.tree.Find(ctx, ".", func(name string) bool { return path.Ext(name) == ".yaml" })
	if err != nil {
		return nil // whoever reads the repository tells of it
	}
	for _, file := range files {
		if !slices.Contains(strings.Split(path.Dir(file), "/"), p.Environment) {
			continue
		}
		content, err := r.tree.Read(file)
		if err != nil || !ladderfile.IsGenerated(content) || !bytes.Contains(content, []byte("\nkind: ApplicationSet\n")) {
			continue
		}
		return []finding.Finding{{
			Rule: argocd.RuleShared, Severity: finding.Warning, Scope: finding.Rule, Basis: finding.Declared, Position: finding.Position{File: file, Line: 1},
			Message: fmt.Sprintf("%s is generated of the descriptors of %s, of which the ApplicationSet %s makes Applications as well: two controllers of one Application undo each other",
				file, p.Environment, written.Name),
			Evidence: []finding.Evidence{{Text: "ApplicationSet " + written.Name, File: written.Position.File, Line: written.Position.Line}},
			Fix:      finding.Fix{Summary: "keep one of the two: delete what is generated, or take the set out of the repository, and delete it from the cluster without its Applications (kubectl delete --cascade=orphan)"},
		}}
	}
	return nil
}
