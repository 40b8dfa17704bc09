package catalogue

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

var (
	// project is the owner and the name of a repository on GitHub in an address of manifests.
	project = lazyregexp.New(`^(?:github\.com|raw\.githubusercontent\.com)/([\w.-]+/[\w.-]+)/`)
	// oneCRD is the name of a file that holds one CRD.
	oneCRD = lazyregexp.New(`^([a-z0-9-]+(?:\.[a-z0-9-]+)+)_([a-z0-9]+)\.ya?ml$`)
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

// ofFile answers for a file that controller-gen wrote of one CRD, by its name: the group, and the plural
// of a kind that the catalogue has in some set. Source: controller-tools, pkg/crd, Generate.
func (c *Catalogue) ofFile(address string) (Answer, bool) {
	m := oneCRD.FindStringSubmatch(path.Base(address))
	if m == nil {
		return Answer{}, false
	}
	for _, folder := range setFolders {
		files, err := fs.ReadDir(data, folder)
		if err != nil {
			continue // an embedded folder that is not there is empty
		}
		for _, file := range files {
			raw, err := data.ReadFile(path.Join(folder, file.Name()))
			if err != nil || !bytes.Contains(raw, []byte("- "+m[2]+"."+m[1]+" ")) {
				continue
			}
			for _, crd := range c.set(strings.TrimSuffix(file.Name(), ".yaml")) {
				if crd.Group == m[1] && crd.Plural == m[2] {
					known := infer.Known{Source: path.Base(address), Kinds: []infer.KnownKind{{Group: crd.Group, Kind: crd.Kind, Plural: crd.Plural}}}
					return Answer{Entry: Entry{Chart: path.Base(address)}, Known: known, CRDs: []CRD{crd}}, true
				}
			}
		}
	}
	return Answer{}, false
}

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
