package repofs

import (
	"path"
	"slices"
	"strings"
)

// IsFixture reports whether a file lies in a folder of the data of tests, or is called as what one expects, which
// nobody applies. A folder ends in a slash.
func IsFixture(file string) bool {
	if base := path.Base(file); strings.HasSuffix(base, ".expected.yaml") || strings.HasSuffix(base, ".expected.yml") {
		return true
	}
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(folder string) bool {
		return slices.Contains([]string{"testdata", "fixtures", "__fixtures__", "__tests__"}, folder)
	})
}

// IsArchived reports whether the name of a folder that a file lies in says that somebody
// has put it away, so that nobody applies it. An application may be called archive or
// old, so that by themselves these names count only behind a dot or an underscore, and
// among the folders of environments; "apps.bak" is a copy of "apps".
func IsArchived(file string) bool {
	above := ""
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(folder string) bool {
		name := strings.TrimLeft(folder, "._")
		away := (name != folder || isEnvironments(above)) && MayBeArchive(name)
		above = folder
		return away || slices.Contains([]string{"archived", "deferred", "exclude", "excluded"}, name) || slices.Contains([]string{".bak", ".backup", ".old", ".orig"}, path.Ext(folder))
	})
}

// MayBeArchive reports whether a folder of this name may be one that somebody has put away,
// or be called like an application. A number before it puts it in its place among others.
func MayBeArchive(name string) bool {
	if numbered := strings.TrimLeft(name, "0123456789"); numbered != name {
		name = strings.TrimLeft(numbered, "-_.")
	}
	return slices.Contains([]string{"archive", "archives", "attic", "old", "deprecated", "disable", "disabled"}, name)
}

// isEnvironments reports whether the folders in a folder of this name are environments.
func isEnvironments(folder string) bool {
	return slices.Contains([]string{"cluster", "overlay", "environment", "env", "stage"}, strings.TrimSuffix(folder, "s"))
}

// IsUnused reports whether a file is in a folder that nobody applies.
func IsUnused(file string) bool { return IsFixture(file) || IsArchived(file) }
