package argocd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// BinaryName is the name of the binary with the controllers.
const BinaryName = "ladder-argocd"

// MissingError says that there is no binary with the controllers.
type MissingError struct {
	// Named is where it was said to be; empty where it was looked for.
	Named string
	Err   error
}

// Error implements error.
func (e *MissingError) Error() string {
	const way = "build it with \"make argocd\" in Ladder's repository, and put it beside ladder or on PATH, or name it with --argocd-binary"
	if e.Named != "" {
		return fmt.Sprintf("%s cannot be run: %v: %s", e.Named, e.Err, way)
	}
	return fmt.Sprintf("the controllers of Argo CD are in a binary of their own, %s, which is neither beside ladder nor on PATH: %s", BinaryName, way)
}

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }

// Find returns the path of the binary: the one that is named, else the one beside
// the running program, else the one on PATH; a *MissingError where there is none.
func Find(named string) (string, error) {
	if named != "" {
		path, err := exec.LookPath(named)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return "", &MissingError{Named: named, Err: cause(err)}
		}
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		// The command may be a link, as kubectl-ladder is.
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), BinaryName)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(BinaryName)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", &MissingError{Err: err}
	}
	return path, nil
}

// cause is what is wrong with a path that was looked up, without the path.
func cause(err error) error {
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err
}
