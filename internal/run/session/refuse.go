package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// UnrenderedError lists the components that could not be rendered, where the
// user did not allow it.
type UnrenderedError struct{ Unrendered []report.Unrendered }

// Error implements error.
func (e *UnrenderedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s cannot be rendered:", finding.Count(report.NotWhole(e.Unrendered), "component"))
	for _, line := range report.UnrenderedLines(e.Unrendered, false) {
		b.WriteString("\n  " + line)
	}
	b.WriteString("\nMend them, or let them stand in as empty components with --allow-unrendered")
	return b.String()
}

// UnknownComponentError names a component that is not part of the rollout.
type UnknownComponentError struct {
	Name string
	// Hint says which it may have been meant for.
	Hint string
}

// Error implements error.
func (e *UnknownComponentError) Error() string {
	return fmt.Sprintf("there is no enabled component %q; %s", e.Name, e.Hint)
}

// checkNames refuses names of components that do not exist.
func checkNames(components []model.Component, asked []string) error {
	var known []string
	for _, c := range components {
		if c.Enabled {
			known = append(known, c.Name)
		}
	}
	slices.Sort(asked)
	for _, name := range asked {
		if !slices.Contains(known, name) {
			return &UnknownComponentError{Name: name, Hint: cmp.Or(yamldoc.Meant(name, known), "ladder inventory lists them")}
		}
	}
	return nil
}

// RefusedError says that the repository has errors that leave no platform to
// roll out, such as two components of one name.
type RefusedError struct{ Findings []finding.Finding }

// Error implements error.
func (e *RefusedError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = fmt.Sprintf("%s: %s [%s]", f.Position, f.Message, f.Rule)
	}
	return "the platform cannot be rolled out:\n  " + strings.Join(lines, "\n  ")
}
