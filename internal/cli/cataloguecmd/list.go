package cataloguecmd

import (
	"bytes"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

func newList(streams *stream.Streams) *cobra.Command {
	result := &flags.Result{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the charts and manifests that are known",
		Example: `  ladder catalogue list
  ladder catalogue list --format json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return list(streams, result)
		},
	}
	result.Register(cmd, "text", "json")
	return cmd
}

// Listing is the JSON form of the list.
type Listing struct {
	FormatVersion string            `json:"formatVersion"`
	Entries       []catalogue.Entry `json:"entries"`
}

func list(streams *stream.Streams, o *flags.Result) error {
	entries := catalogue.New().Entries()
	var b bytes.Buffer
	if o.Format == "json" {
		if err := report.JSON(&b, Listing{FormatVersion: report.FormatVersion, Entries: entries}); err != nil {
			return exit.With(exit.CouldNotRun, err)
		}
		return streams.WriteResult(o.Output, b.Bytes())
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CHART\tREAD FROM\tWHERE")
	for _, e := range entries {
		where := ""
		switch {
		case len(e.Repositories) > 0:
			where = e.Repositories[0]
		case len(e.Manifests) > 0:
			where = e.Manifests[0]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", e.Chart, e.Version, where)
	}
	if err := w.Flush(); err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	return streams.WriteFormat(o.Format, o.Output, b.Bytes())
}
