package rehearsecmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/steering"
)

// interrupted says how to go on with a run that was left or interrupted.
func interrupted(w io.Writer, h *steering.Helm, kept bool, cmd *cobra.Command, args []string) {
	switch {
	case kept:
		what := ""
		if h.Left() {
			what = "detached; "
		}
		fmt.Fprintf(w, "ladder: %sthe plane stays up, the state of the rollout is saved, and nothing new starts. Go on with:\n  %s\n", what, steering.Resuming(cmd, args))
	case h.Left():
		fmt.Fprintln(w, "ladder: ended; the plane was not kept (--keep), so there is nothing to go on with")
	}
}
