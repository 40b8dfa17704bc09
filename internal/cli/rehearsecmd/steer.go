package rehearsecmd

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/steering"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// ofOneRun are the flags that say where one run is and what is told of it.
var ofOneRun = []string{"environment", "plane", "keep", "fresh", "resume", "format", "output", "report", "progress", "quiet", "verbose"}

// goingOn are the flags that a rehearsal needs that goes on with this one, whoever starts
// it wherever.
func goingOn(cmd *cobra.Command) []string {
	words := steering.Flags(cmd, ofOneRun...)
	for i, w := range words {
		if (w == "--durations" || w == "--argocd-binary") && i+1 < len(words) {
			if file, err := filepath.Abs(words[i+1]); err == nil {
				words[i+1] = file
			}
		}
	}
	return words
}

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
