package rehearsecmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/steering"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// interrupted says how to go on with a run that was left or interrupted.
func interrupted(streams *stream.Streams, h *steering.Helm, kept bool, cmd *cobra.Command, args []string) {
	switch {
	case kept:
		what := ""
		if h.Left() {
			what = "detached; "
		}
		fmt.Fprintf(streams.Err, "ladder: %sthe plane stays up, the state of the rollout is saved, and nothing new starts. Go on with:\n", what)
		fmt.Fprintf(streams.Whole(), "  %s\n", steering.Resuming(cmd, args))
	case h.Left():
		fmt.Fprintln(streams.Err, "ladder: ended; the plane was not kept (--keep), so there is nothing to go on with")
	}
}
