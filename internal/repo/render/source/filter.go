package source

import (
	"path"
	"slices"

	"github.com/gobwas/glob"
)

// Jsonnet is the ending of the files that Argo CD evaluates; others (libsonnet) are
// only imported.
const Jsonnet = ".jsonnet"

// Filter chooses files by glob patterns on their path relative to the folder,
// as the include and exclude fields of Argo CD's directory sources: "*.yaml",
// "{a,b}/*", "config.yaml". A star also matches slashes. Empty patterns choose
// everything.
type Filter struct{ Include, Exclude string }

// Takes reports whether a file is chosen that holds manifests.
func (f Filter) Takes(rel string) bool {
	if !slices.Contains([]string{".yaml", ".yml", ".json", Jsonnet}, path.Ext(rel)) {
		return false
	}
	match := func(pattern string) bool {
		g, err := glob.Compile(pattern)
		return err == nil && g.Match(rel)
	}
	if f.Exclude != "" && match(f.Exclude) {
		return false
	}
	return f.Include == "" || match(f.Include)
}
