package catalogue

import (
	"bytes"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

var (
	// project is the owner and the name of a repository on GitHub in an address of manifests.
	project = lazyregexp.New(`^(?:github\.com|raw\.githubusercontent\.com)/([\w.-]+/[\w.-]+)/`)
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
