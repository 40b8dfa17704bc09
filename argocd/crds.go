package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// definitions holds the CRDs that the build copied out of the Argo CD module.
//
//go:embed crds
var definitions embed.FS

// errNoDefinitions is a binary that was built by go build alone.
var errNoDefinitions = errors.New("this binary was built without the CRDs of Argo CD: build it with make argocd")

// printDefinitions writes every CRD as one stream of YAML documents.
func printDefinitions(w io.Writer, files fs.FS) error {
	names, err := fs.Glob(files, "crds/*.yaml")
	if err != nil {
		return fmt.Errorf("list the CRDs: %w", err)
	}
	if len(names) == 0 {
		return errNoDefinitions
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read the CRDs: %w", err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s\n", text); err != nil {
			return fmt.Errorf("print the CRDs: %w", err)
		}
	}
	return nil
}
