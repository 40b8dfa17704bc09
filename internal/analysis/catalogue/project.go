package catalogue

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

var (
	// project is the owner and the name of a repository on GitHub in an address of manifests.
	project = lazyregexp.New(`^(?:github\.com|raw\.githubusercontent\.com)/([\w.-]+/[\w.-]+)/`)
	// oneCRD is the name of a file that holds one CRD.
	oneCRD = lazyregexp.New(`^([a-z0-9-]+(?:\.[a-z0-9-]+)+)_([a-z0-9]+)\.ya?ml$`)
	// inSet is a line of a set: "- applications.argoproj.io Application v1alpha1".
	inSet = lazyregexp.New(`(?m)^- ([a-z0-9.-]+) `)
	// allCRDs is the name of a file, or of a folder, that holds all CRDs of a project.
	allCRDs = lazyregexp.New(`(?i)(?:^|[-_.])(?:crds?|customresourcedefinitions?)(?:[-_.](?:v?\d[\w.-]*|only|all|bundle))*(?:\.ya?ml)?$`)
)

// ofProject answers for the CRDs that a project publishes as a file or a folder of their own: they are
// those of its chart, where the catalogue knows one that was read in the same repository.
func (c *Catalogue) ofProject(address string, asked Asked) (Answer, bool) {
	m := project.FindStringSubmatch(address)
	if m == nil || !allCRDs.MatchString(path.Base(address)) {
		return Answer{}, false
	}
	var chart string
	for _, name := range entryFiles() {
		if !readIn(name, m[1]) {
			continue
		}
		if chart != "" {
			return Answer{}, false // a repository of several charts
		}
		chart = name
	}
	for _, e := range c.named(chart) {
		if len(e.CRDs) > 0 {
			crds := slices.Clone(e.CRDs)
			for i := range crds {
				crds[i].When = nil // values of the chart decide nothing here
			}
			answer := c.fill(Entry{Chart: e.Chart, Version: e.Version, Source: e.Source, CRDs: crds}, asked)
			return answer, len(answer.CRDs) > 0
		}
	}
	return Answer{}, false
}

// OfFile is the group and the plural of the CRD in a file that controller-gen wrote, by its name; ok is
// false for other files. Source: controller-tools, pkg/crd, Generate.
func OfFile(name string) (group, plural string, ok bool) {
	m := oneCRD.FindStringSubmatch(name)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// ofFile answers for such a file, where a set has the kind.
func (c *Catalogue) ofFile(address string) (Answer, bool) {
	group, plural, ok := OfFile(path.Base(address))
	if !ok {
		return Answer{}, false
	}
	for _, crd := range c.set(setOf()[plural+"."+group]) {
		if crd.Group == group && crd.Plural == plural {
			known := infer.Known{Source: path.Base(address), Kinds: []infer.KnownKind{{Group: group, Kind: crd.Kind, Plural: plural}}}
			return Answer{Entry: Entry{Chart: path.Base(address)}, Known: known, CRDs: []CRD{crd}}, true
		}
	}
	return Answer{}, false
}

// setOf has the name of a set for each CRD of one, read once: a repository may name many files.
var setOf = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, folder := range setFolders {
		files, err := fs.ReadDir(data, folder)
		if err != nil {
			continue // an embedded folder that is not there is empty
		}
		for _, file := range files {
			raw, err := data.ReadFile(path.Join(folder, file.Name()))
			if err != nil {
				continue
			}
			for _, m := range inSet.FindAllSubmatch(raw, -1) {
				if name := string(m[1]); all[name] == "" {
					all[name] = strings.TrimSuffix(file.Name(), ".yaml")
				}
			}
		}
	}
	return all
})

// readIn reports whether the files of a chart say that it was read in a repository.
func readIn(chart, repository string) bool {
	for _, folder := range entryFolders {
		raw, err := data.ReadFile(path.Join(folder, chart+".yaml"))
		if err == nil && bytes.Contains(raw, []byte("- "+repository+"@")) {
			return true
		}
	}
	return false
}
