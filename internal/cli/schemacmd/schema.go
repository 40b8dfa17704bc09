// Package schemacmd is the command "ladder schema".
package schemacmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/schema"
)

// New returns the command.
func New(streams *stream.Streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "schema " + strings.Join(schema.Names(), "|"),
		Short: "Print the JSON Schema of a file that Ladder reads or writes",
		Example: `  ladder schema component > component.schema.json
  ladder schema ladder --output ladder.schema.json`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: schema.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			document, err := schema.Get(args[0])
			if err != nil {
				return exit.With(exit.Usage, err)
			}
			return streams.WriteResult(output, document)
		},
	}
	cmd.Flags().StringVar(&output, "output", "", "write the schema to this file instead of stdout")
	return cmd
}
