package confine

import (
	"fmt"
	"time"
)

// Limit is what ended a call.
type Limit string

// The limits.
const (
	Time   Limit = "time"
	Memory Limit = "memory"
	Stack  Limit = "stack"
	Output Limit = "output"
	// Questions are what a worker asks for.
	Questions Limit = "questions"
	// Crash is the death of a worker for a reason that nobody knows.
	Crash Limit = "crash"
)

// LimitError says that a worker was ended, or died, in the middle of a call.
type LimitError struct {
	Limit Limit
	// Allowed is the time that the call had.
	Allowed time.Duration
	// Note is the last thing that the worker said it was at.
	Note []byte
	// Detail is how the process ended.
	Detail string
}

// Error implements error: what the call did, without a subject.
func (e *LimitError) Error() string {
	switch e.Limit {
	case Time:
		return fmt.Sprintf("does not end within %s", e.Allowed)
	case Memory:
		return fmt.Sprintf("takes more than %d MiB of memory", maxResident>>20)
	case Stack:
		return "nests without end"
	case Output:
		return fmt.Sprintf("makes more than %d MiB of output", maxResult>>20)
	case Questions:
		return fmt.Sprintf("asks for more than %d files and folders", maxAsks)
	default:
		return "ends the process that evaluates it (" + e.Detail + ")"
	}
}

// UnconfinedError says that the confinement that is required is not to be had.
type UnconfinedError struct{ Confinement Confinement }

// Error implements error.
func (e *UnconfinedError) Error() string {
	return "the confinement that --confine required asks for is not to be had here: " + e.Confinement.String()
}

// MethodError is what a method failed with.
type MethodError struct{ Text string }

// Error implements error.
func (e *MethodError) Error() string { return e.Text }
