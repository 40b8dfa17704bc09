// Generate writes the generated part of the catalogue: sets of CRDs from a folder
// of CRDs and entries from a list of facts about charts, or operators from the
// bundles of the Operator Lifecycle Manager.
//
//	generate -facts FILE -crds FOLDER
//	generate [-skip REGEXP [-keep REGEXP]] OWNER/NAME@COMMIT=FOLDER...
//
// Its output depends on nothing but its input. From a CRD only group, kind,
// plural, scope and served versions are taken.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

func main() {
	facts := flag.String("facts", "", "file with facts about charts")
	crds := flag.String("crds", "", "folder with one folder of CRDs for each project")
	out := flag.String("out", filepath.Join("internal", "analysis", "catalogue", "data", "generated"), "folder that is written")
	var skip, keep expression
	flag.Var(&skip, "skip", "expression of packages that are left out")
	flag.Var(&keep, "keep", "expression of packages that are not, though skip matches them")
	flag.Parse()
	var err error
	if flag.NArg() > 0 {
		err = runPackages(*out, flag.Args(), skip.Regexp, keep.Regexp)
	} else {
		err = run(*facts, *crds, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1) //nolint:forbidigo // a command of its own, for developers
	}
}

// expression is a flag that is a regular expression.
type expression struct{ *regexp.Regexp }

func (e *expression) String() string { return "" }

func (e *expression) Set(text string) (err error) {
	e.Regexp, err = regexp.Compile(text)
	return err
}

func run(facts, crds, out string) error {
	if facts == "" || crds == "" {
		return errors.New("-facts and -crds are needed, or checkouts of bundles")
	}
	files, err := generate(facts, crds)
	if err != nil {
		return err
	}
	return write(files, out, "charts", "crds")
}

func runPackages(out string, checkouts []string, skip, keep *regexp.Regexp) error {
	if keep == nil {
		keep = regexp.MustCompile("^$")
	}
	files, err := packages(checkouts, skip, keep)
	if err != nil {
		return err
	}
	return write(files, out, "olm")
}

// write writes files in place of all that some folders below out hold.
func write(files map[string][]byte, out string, folders ...string) error {
	for _, folder := range folders {
		if err := os.RemoveAll(filepath.Join(out, folder)); err != nil {
			return fmt.Errorf("clear the output: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
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
