// Generate writes the generated part of the catalogue: sets of CRDs from a folder
// of CRDs, and entries from a list of facts about charts.
//
// Its output depends on nothing but its input. From a CRD only group, kind,
// plural, scope and served versions are taken.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	facts := flag.String("facts", "", "file with facts about charts")
	crds := flag.String("crds", "", "folder with one folder of CRDs for each project")
	out := flag.String("out", filepath.Join("internal", "catalogue", "data", "generated"), "folder that is written")
	flag.Parse()
	if err := run(*facts, *crds, *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1) //nolint:forbidigo // a command of its own, for developers
	}
}

func run(facts, crds, out string) error {
	if facts == "" || crds == "" {
		return errors.New("-facts and -crds are needed")
	}
	files, err := generate(facts, crds)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return fmt.Errorf("clear the output: %w", err)
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("make the output folder: %w", err)
		}
		if err := os.WriteFile(file, files[name], 0o644); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	return nil
}
