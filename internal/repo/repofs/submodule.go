package repofs

import (
	"bufio"
	"bytes"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Submodules are the folders of Git submodules, as .gitmodules names them, relative to the root of
// the tree. Who syncs the repository fetches what is in them; an empty one is not checked out.
func (t *Tree) Submodules() []string {
	content, err := t.Read(path.Join(t.Rel(t.Repository), ".gitmodules"))
	if err != nil {
		return nil
	}
	var list []string
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), "=")
		if ok && strings.TrimSpace(key) == "path" {
			folder := filepath.FromSlash(strings.Trim(strings.TrimSpace(value), `"`))
			list = append(list, t.Rel(filepath.Join(t.Repository, folder)))
		}
	}
	return list
}

// Submodule is the submodule that a path lies in; empty for none.
func (t *Tree) Submodule(p string) string {
	all := t.Submodules()
	if i := slices.IndexFunc(all, func(m string) bool { return p == m || strings.HasPrefix(p, m+"/") }); i >= 0 {
		return all[i]
	}
	return ""
}
