package source

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Error says why a source could not be rendered: a mistake in the repository
// or something that is not there. Reason is one sentence with a way out.
type Error struct {
	Position finding.Position
	Reason   string
	Err      error // the cause, where there is one
}

// Error implements error.
func (e *Error) Error() string {
	if e.Position.File == "" {
		return e.Reason
	}
	return e.Position.String() + ": " + e.Reason
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error at a position.
func Errorf(at finding.Position, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Position: at, Reason: err.Error(), Err: errors.Unwrap(err)}
}

// Absent makes the Error of a folder or chart that a source names and that is not there.
func Absent(at finding.Position, what, name string) *Error {
	return &Error{
		Position: at, Reason: fmt.Sprintf("the %s %s does not exist; correct the path or add it", what, name),
		Err: &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist},
	}
}

// NoValueFile says that a value file is not there, and what helps.
func NoValueFile(name string) string {
	return "value file " + name + " does not exist; add it, or mark it optional (ignoreMissingValueFiles), so that the chart renders without its values"
}

// ErrEncrypted is under errors about a file that only its owner can read.
var ErrEncrypted = errors.New("encrypted")

// Encrypted makes the Error of a file that was encrypted by a tool.
func Encrypted(file, tool string) *Error {
	return Errorf(finding.Position{File: file, Line: 1}, "%s is %w by %s; decrypt it to have it looked at", file, ErrEncrypted, tool)
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
