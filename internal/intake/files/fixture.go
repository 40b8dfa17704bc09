package files

import (
	"path"
	"slices"
	"strings"
)

// IsFixture reports whether a file lies in a folder of the data of tests, which
// nobody applies. A folder ends in a slash.
func IsFixture(file string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(folder string) bool {
		return slices.Contains([]string{"testdata", "fixtures", "__fixtures__", "__tests__"}, folder)
	})
}
