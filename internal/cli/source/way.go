package source

import (
	"errors"
	"path/filepath"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// Way leads from where the command runs to the root of the platform of a PATH, as the
// path was written where it can: "." where they are one.
func Way(path string) string {
	tree, err := repofs.Discover(path)
	if err != nil {
		return "."
	}
	// The root may be above the path, and what is above a link is not above where it leads.
	if up, err := filepath.Rel(resolved(path), tree.Root); err == nil {
		if way := filepath.Join(path, up); resolved(way) == tree.Root {
			return filepath.ToSlash(way)
		}
	}
	return filepath.ToSlash(tree.Root)
}

// resolved is the absolute path that a path leads to; empty where it leads nowhere.
func resolved(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	abs, _ = filepath.EvalSymlinks(abs) // empty with an error
	return abs
}

// Placed gives the errors of reading a PATH positions that open from where the command
// runs. It is asked once of an error.
func Placed(err error, path string) error {
	var unrendered *session.UnrenderedError
	if errors.As(err, &unrendered) {
		unrendered.Unrendered = report.UnrenderedBelow(unrendered.Unrendered, Way(path))
	}
	var refused *session.RefusedError
	if errors.As(err, &refused) {
		way := Way(path)
		for i, f := range refused.Findings {
			refused.Findings[i] = f.Below(way)
		}
	}
	seen := map[*repo.InputError]bool{}
	for _, problem := range repo.InputErrors(err) {
		if !seen[problem] {
			seen[problem] = true
			problem.Position = problem.Position.Below(Way(path))
		}
	}
	return err
}
