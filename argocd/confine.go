package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// confineOff asks nothing of the kernel, as ladder's --confine says it. Every other
// value asks for all of it.
const confineOff = "off"

// unconfinedError says that the kernel cannot hold Argo CD.
type unconfinedError struct{ missing string }

// Error implements error.
func (e *unconfinedError) Error() string {
	return "Argo CD starts programs, reads files and connects as its settings say, which are the repository's, and this kernel cannot keep it from that: " +
		e.missing + "; for a repository that you trust, leave that to it with --confine off"
}

// The variables that tell the commands of the repo server how they are confined.
const (
	confineVariable = "LADDER_CONFINE"
	offlineVariable = "LADDER_OFFLINE"
)

// confine confines helm and kustomize, which evaluate what a repository wrote.
func confine() error {
	offline := os.Getenv(offlineVariable) != ""
	// Kustomize's git fetches from elsewhere only; --upload-pack of a reference is a
	// shell command for the transport of files.
	if err := os.Setenv("GIT_ALLOW_PROTOCOL", "https:ssh"); err != nil {
		return err
	}
	if offline {
		if err := os.Setenv("PATH", filepath.Join(filepath.Dir(os.Getenv("HOME")), binFolder)); err != nil {
			return err
		}
	}
	err := confineCommand(os.Getenv(confineVariable), offline)
	if err == nil && offline {
		err = noNetwork()
	}
	if err != nil {
		return fmt.Errorf("confine what evaluates the repository: %w", err)
	}
	return nil
}
