// Package cachedir says where Ladder keeps between runs what it can make again.
package cachedir

import (
	"os"
	"path/filepath"
)

// Render is the folder of rendered sources, in that of Join.
const Render = "render"

// Join returns a path in dir, where that is given, else in the user's cache:
// $XDG_CACHE_HOME/ladder on Linux. It is empty where the user has none.
func Join(dir string, path ...string) string {
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(user, "ladder")
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

// Exists reports whether there is a path in dir, as Join returns it.
func Exists(dir string, path ...string) bool {
	_, err := os.Stat(Join(dir, path...))
	return err == nil
}
