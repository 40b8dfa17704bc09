package render

import (
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// Error is a source that could not be rendered.
type Error struct {
	Component string
	// Source names what could not be rendered: a path, or a remote chart.
	Source   string
	Position finding.Position
	// Reason is one sentence with a way out.
	Reason string
	Err    error // the cause, where there is one
	// Missing is the source with its release; Namespace is where it would go.
	Missing   model.Source
	Namespace string
	// Moved is set where a kustomization moves all of it there, whatever it says itself.
	Moved bool
	// Deleted are the objects that patches delete from it, if it has them.
	Deleted []source.Named
	// Part is set for a remote part of a source, the rest of which may be rendered.
	Part bool
}

// Error implements error.
func (e *Error) Error() string {
	text := finding.Plain("render " + e.Component + ": " + e.Reason)
	if e.Position.File != "" {
		text = e.Position.String() + ": " + text
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
