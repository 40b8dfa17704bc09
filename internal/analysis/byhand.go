package analysis

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/byhand"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// byHand answers which command in the repository applies a CRD, as far as the
// catalogue knows what the addresses hold. Files are read when it is first asked,
// once for all environments.
func (r *run) byHand(ctx context.Context, tree *repofs.Tree, charts *catalogue.Catalogue) func(crd string) (finding.Evidence, bool) {
	if told := r.told[charts]; told != nil {
		return told
	}
	known := sync.OnceValue(func() map[string]finding.Evidence {
		told := map[string]finding.Evidence{}
		for _, one := range byhand.Find(ctx, tree) {
			answer, ok := charts.Find(catalogue.Asked{Source: model.Source{Kind: model.Manifests, RepoURL: one.Address}})
			if !ok {
				continue
			}
			shown, _, _ := strings.Cut(one.Address, "?") // a query may hold a token
			evidence := finding.Evidence{
				Text: fmt.Sprintf("%s is applied by hand, the CRDs of %s", finding.Redact(shown), answer.Entry.Chart),
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
	r.told[charts] = func(crd string) (finding.Evidence, bool) {
		evidence, ok := known()[crd]
		return evidence, ok
	}
	return r.told[charts]
}
