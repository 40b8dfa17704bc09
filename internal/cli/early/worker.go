package early

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/cachedir"
	"github.com/rollout-ladder/ladder/internal/confine"
)

// rendering are the commands that render a platform, and show nothing before that.
var rendering = []string{"diff", "explain", "generate", "inventory", "lint", "plan", "render"}

// startWorker starts the process that renders, where nothing is rendered yet: it is
// initialised beside this one. Lint of examples/ameide with a cold cache takes 1.1 x
// what it took without workers; 1.4 x where they are started by main.
func startWorker(args []string) {
	if rendersAll(args) {
		confine.Ahead()
	}
}

// rendersAll reports whether a command will surely render.
func rendersAll(args []string) bool {
	return len(args) > 1 && slices.Contains(rendering, args[1]) && !slices.Contains(args, "--help") && !slices.Contains(args, "-h") &&
		(slices.Contains(args, "--no-cache") || !cachedir.Exists("", cachedir.Render))
}
