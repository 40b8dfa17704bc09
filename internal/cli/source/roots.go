package source

import (
	"path/filepath"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// Roots are the files and folders that are applied by hand, relative to the root of the platform.
// They are written relative to where the command runs; what is not there is relative to the platform.
func Roots(f flags.Source) []string {
	if len(f.Roots) == 0 {
		return nil
	}
	tree, err := repofs.Discover(f.Path)
	if err != nil {
		return f.Roots // who reads the platform tells
	}
	all := make([]string, len(f.Roots))
	for i, written := range f.Roots {
		all[i] = written
		abs := resolved(written)
		if abs == "" {
			continue
		}
		if rel, err := filepath.Rel(tree.Root, abs); err == nil && filepath.IsLocal(rel) {
			all[i] = filepath.ToSlash(rel)
		}
	}
	return all
}
