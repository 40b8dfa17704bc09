// Package exit holds the one table of exit codes of the ladder command.
package exit

import (
	"context"
	"errors"
	"fmt"
)

// Code is an exit code of the ladder command.
type Code int

// The exit codes. They are part of the command line's contract.
const (
	OK          Code = 0   // fine
	No          Code = 1   // a check or rollout failed: error findings, failed rollout, stale --check, failed smoke
	Usage       Code = 2   // wrong usage or unreadable input
	CouldNotRun Code = 3   // cluster unreachable, plane did not start
	TimedOut    Code = 4   // timed out
	Interrupted Code = 130 // interrupted; the state is saved
)

// Error carries an exit code up to main.
type Error struct {
	Code Code
	// Err is printed; nil where the command has already said what is wrong.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// With gives err an exit code; a nil err stays nil.
func With(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Err: err}
}

// Usagef says what is wrong with the way the command was called.
func Usagef(format string, arguments ...any) error {
	return With(Usage, fmt.Errorf(format, arguments...))
}

// Silent ends the command with a code and prints nothing more.
func Silent(code Code) error { return &Error{Code: code} }

// Of returns the exit code that an error stands for.
func Of(err error) Code {
	var coded *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &coded):
		return coded.Code
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	default:
		return CouldNotRun
	}
}
