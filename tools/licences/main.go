// Command licences writes the licences of what is linked into the binaries, and
// fails on one that Ladder does not distribute. Nothing is fetched: the texts are
// in the module cache of a build.
//
//	cd tools && go run ./licences          # write ../docs/third-party-licences.txt
//	cd tools && go run ./licences -check   # fail where it is not up to date
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences that Ladder distributes, by their SPDX identifiers.
var allowed = []string{
	"Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC",
	// A file under it is distributed as it is; its source is at the module's address.
	"MPL-2.0",
}

// others are further licences that single modules have, with why that is fine.
var others = map[string]string{
	"kernel.org/pub/linux/libs/security/libcap/psx GPL-2.0":     "BSD-3-Clause or GPL-2.0, as one chooses: BSD-3-Clause is chosen",
	"layeh.com/gopher-json Unlicense":                           "public domain",
	"github.com/apparentlymart/go-textseg/v15 Unicode-DFS-2016": "tables of Unicode, on terms like those of MIT",
	"github.com/apparentlymart/go-textseg/v17 Unicode-DFS-2016": "tables of Unicode, on terms like those of MIT",
}

// left are files that license nothing of what is linked.
var left = map[string]string{
	"github.com/fluxcd/cli-utils LICENSE_TEMPLATE":     "the head of its source files",
	"github.com/fluxcd/cli-utils LICENSE_TEMPLATE_GO":  "the head of its source files",
	"github.com/opencontainers/go-digest LICENSE.docs": "its documentation",
}

// binaries are what is distributed, by the folder of their module and the package.
var binaries = []struct{ name, folder, pkg string }{
	{"ladder", "..", "./cmd/ladder"},
	{"ladder-argocd", "../argocd", "."},
	{"ladder-argocd-helm", "../argocd", "helm.sh/helm/v3/cmd/helm"},
}

// own is the prefix of Ladder's own modules.
const own = "github.com/rollout-ladder/ladder"

func main() {
	log.SetFlags(0)
	check := flag.Bool("check", false, "fail where the file is not up to date")
	output := flag.String("output", "../docs/third-party-licences.txt", "file that is written")
	flag.Parse()
	if err := run(*output, *check); err != nil {
		log.Fatalf("licences: %v", err)
	}
}

func run(output string, check bool) error {
	modules, err := linked()
	if err != nil {
		return err
	}
	var problems []error
	for _, m := range modules {
		problems = append(problems, m.read())
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	text := document(modules)
	if !check {
		return os.WriteFile(output, text, 0o644)
	}
	got, err := os.ReadFile(output)
	if err == nil && !bytes.Equal(got, text) {
		err = fmt.Errorf("%s is not up to date: make generate", output)
	}
	return err
}

// licence is a file of a module.
type licence struct {
	// file is relative to the module.
	file, text string
	// ids are SPDX identifiers, sorted; none for a notice.
	ids []string
}

var (
	isLicence = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([-_.].*)?$`)
	isNotice  = regexp.MustCompile(`(?i)^(notice|patents)([-_.].*)?$`)
	isSource  = regexp.MustCompile(`(?i)\.(go|tmpl|tpl|json|ya?ml)$`)
)

// read reads the licences that apply to the linked packages of a module: those in
// their folders and in the folders above, up to the top of the module.
func (m *module) read() error {
	for _, folder := range m.folders() {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			licensed := isLicence.MatchString(e.Name())
			if e.IsDir() || isSource.MatchString(e.Name()) || !licensed && !isNotice.MatchString(e.Name()) {
				continue
			}
			name := filepath.Join(folder, e.Name())
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(m.dir, name)
			if err != nil {
				return err
			}
			if left[m.path+" "+filepath.ToSlash(rel)] != "" {
				continue
			}
			l := licence{file: filepath.ToSlash(rel), text: tidy(string(text))}
			if licensed {
				if l.ids = identify(text); len(l.ids) == 0 {
					return fmt.Errorf("%s: %s is no licence that is known", m.path, l.file)
				}
			}
			m.licences = append(m.licences, l)
		}
	}
	ids := m.ids()
	if len(ids) == 0 {
		return fmt.Errorf("%s has no licence", m.path)
	}
	for _, id := range ids {
		if !slices.Contains(allowed, id) && others[m.path+" "+id] == "" {
			return fmt.Errorf("%s is licensed under %s, which Ladder does not distribute", m.path, id)
		}
	}
	return nil
}

// ids are the licences of a module, sorted.
func (m *module) ids() []string {
	var ids []string
	for _, l := range m.licences {
		ids = append(ids, l.ids...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// identify tells the licences of a text by its content; none where more than a
// quarter of it is something else.
func identify(text []byte) []string {
	found := licensecheck.Scan(text)
	if found.Percent < 75 {
		return nil
	}
	var ids []string
	for _, m := range found.Match {
		if !m.IsURL {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// tidy takes out what differs between copies of a text without a meaning.
func tidy(text string) string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\f", "")) {
		lines = append(lines, strings.TrimRight(line, " \t\r\n"))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
