package source

import (
	"errors"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/finding"
)

// Problem says why a source could not be rendered: a mistake in the repository
// or something that is not there. Reason is one sentence with a way out.
type Problem struct {
	Position finding.Position
	Reason   string
	Err      error // the cause, where there is one
}

// Error implements error.
func (p *Problem) Error() string {
	if p.Position.File == "" {
		return p.Reason
	}
	return p.Position.String() + ": " + p.Reason
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }

// Problemf makes a Problem at a position.
func Problemf(at finding.Position, format string, args ...any) *Problem {
	err := fmt.Errorf(format, args...)
	return &Problem{Position: at, Reason: err.Error(), Err: errors.Unwrap(err)}
}

// EscapeError is a path that leaves the repository.
type EscapeError struct{ Path string }

// Error implements error.
func (e *EscapeError) Error() string {
	return fmt.Sprintf("%s leaves the repository; keep what is rendered inside it", e.Path)
}

// SizeError is a file over the size limit.
type SizeError struct {
	Path  string
	Limit int64
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s is larger than %d MiB", e.Path, e.Limit>>20)
}
