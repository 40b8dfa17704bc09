package plancmd

import (
	"bytes"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/load"
	"github.com/rollout-ladder/ladder/internal/plan"
	"github.com/rollout-ladder/ladder/internal/report"
)

// suggest writes a better placement.
func suggest(b *bytes.Buffer, input plan.Input, _ *load.Result, o *Options) error {
	s, err := plan.Suggest(input)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	patch, patched := "", map[string]bool{}
	if o.Format == "json" {
		return report.JSON(b, report.SuggestionDocument(s, patch, patched))
	}
	return report.SuggestionText(b, s, patch, patched)
}
