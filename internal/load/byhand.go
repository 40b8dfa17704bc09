package load

import (
	"context"
	"fmt"
	"sync"

	"github.com/rollout-ladder/ladder/internal/catalogue"
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/intake/byhand"
	"github.com/rollout-ladder/ladder/internal/intake/files"
)

// byHand answers which command in the repository applies a CRD, as far as the
// catalogue knows what the addresses hold. Files are read when it is first asked.
func byHand(ctx context.Context, tree *files.Tree, charts *catalogue.Catalogue) func(crd string) (finding.Evidence, bool) {
	known := sync.OnceValue(func() map[string]finding.Evidence {
		told := map[string]finding.Evidence{}
		for _, one := range byhand.Find(ctx, tree) {
			answer, ok := charts.Find(catalogue.Asked{Source: component.Source{Kind: component.Manifests, RepoURL: one.Address}})
			if !ok {
				continue
			}
			evidence := finding.Evidence{
				Text: fmt.Sprintf("%s is applied by hand, the CRDs of %s", one.Address, answer.Entry.Chart),
				File: one.Position.File, Line: one.Position.Line,
			}
			for _, crd := range answer.CRDs {
				if name := crd.Plural + "." + crd.Group; told[name].File == "" {
					told[name] = evidence
				}
			}
		}
		return told
	})
	return func(crd string) (finding.Evidence, bool) {
		evidence, ok := known()[crd]
		return evidence, ok
	}
}
