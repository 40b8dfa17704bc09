package repofs

import (
	"errors"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// InputError says that a file or path of the user cannot be read or
// understood. It names the place and a way out. Commands answer it with exit
// code 2.
type InputError struct {
	// Position is the place in the repository; its File is empty for a problem
	// with an argument of the command line.
	Position finding.Position
	Message  string
	// Hint says what to do, as a sentence; it may be empty.
	Hint string
	// Err is the cause, where there is one.
	Err error
}

// Error prints "file:line: message (hint)".
func (e *InputError) Error() string {
	var b strings.Builder
	if e.Position.File != "" {
		b.WriteString(e.Position.String())
		b.WriteString(": ")
	}
	b.WriteString(finding.Plain(e.Message))
	if e.Hint != "" {
		b.WriteString(" (")
		b.WriteString(finding.Plain(e.Hint))
		b.WriteString(")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// InputErrors collects every InputError in the tree of err, in the order in
// which they were joined.
func InputErrors(err error) []*InputError {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*InputError
		for _, e := range joined.Unwrap() {
			all = append(all, InputErrors(e)...)
		}
		return all
	}
	var input *InputError
	if errors.As(err, &input) {
		return []*InputError{input}
	}
	return nil
}
