package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// What is wanted of the kernel, as ladder's --confine says it.
const (
	confineOff      = "off"
	confineRequired = "required"
)

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
