package repofs

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

var submodulePath = lazyregexp.New(`(?m)^\s*path\s*=\s*["']?([^\s"']+)`)

// Submodule is the submodule of Git that a path lies in, as .gitmodules names it from the root of the
// tree; empty for none. Who syncs the repository fetches what is in it.
func (t *Tree) Submodule(p string) string {
	data, err := os.ReadFile(filepath.Join(t.Repository, ".gitmodules"))
	if err != nil || len(data) > 1<<20 {
		return ""
	}
	prefix, err := filepath.Rel(t.Repository, t.Root)
	if err != nil {
		return ""
	}
	whole := path.Join(filepath.ToSlash(prefix), p)
	for _, m := range submodulePath.FindAllStringSubmatch(string(data), -1) {
		if dir := path.Clean(m[1]); whole == dir || strings.HasPrefix(whole, dir+"/") {
			return dir
		}
	}
	return ""
}
