// Package cataloguecmd is the command "ladder catalogue".
package cataloguecmd

import (
	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "catalogue",
		Short: "What is known of charts that cannot be rendered",
		Long: `What is known of common charts without rendering them: their CRDs, the kinds that
their operators reconcile, webhooks, and what they make. Findings that rest on it
say so. Entries of your own go into ladder.yaml.`,
		Aliases: []string{"catalog"},
	}
	cmd.AddCommand(newList(streams), newShow(streams), newRecord(streams, global))
	return cmd
}
