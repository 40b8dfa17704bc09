package source

import (
	"context"
	"errors"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Fetch gets the archive of a remote chart.
type Fetch func(ctx context.Context, repoURL, name, version string) ([]byte, error)

// RemoteName names a remote chart for people: "https://host/charts/name 1.2.3".
func RemoteName(src model.Source) string {
	return strings.TrimSpace(Address(src) + "/" + src.Name + " " + src.Version)
}

// Address is the repository of a remote source without credentials.
func Address(src model.Source) string {
	return strings.TrimSuffix(finding.WithoutCredentials(src.RepoURL), "/")
}

// Lacking is a remote source that could not be had, and without which the rest
// was rendered.
type Lacking struct {
	// Source has the values it would have been rendered with, and its release.
	Source    model.Source
	Namespace string
	// Moved is set where a kustomization moves all of it into the namespace, whatever it says.
	Moved bool
	// Deleted are the objects that patches delete from it, if it has them.
	Deleted []Named
	Err     *Error
}

// Named is a kind and a name.
type Named struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// UnavailableError says that a remote source could not be had.
type UnavailableError struct{ Lacking }

// Error implements error.
func (e *UnavailableError) Error() string { return e.Err.Error() }

// Unwrap returns the problem with its position.
func (e *UnavailableError) Unwrap() error { return e.Err }

// ErrWithout is the cause of a failure that may be owed to a dependency that is
// lacking: the definitions and values of its templates are.
var ErrWithout = errors.New("a dependency is lacking")

// ErrPlugin is the cause of a failure that is owed to a program that is not run.
var ErrPlugin = errors.New("it names a program, which is not run")
