// Package cachedir says where Ladder keeps between runs what it can make again.
package cachedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The folders in that of Join.
const (
	Render      = "render"      // rendered sources
	Expressions = "expressions" // what is known of expressions
)

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

// Write puts a file into the cache, whole or not at all. A cache that cannot be
// written is no failure.
func Write(name string, data []byte) {
	dir := filepath.Dir(name)
	temp, err := os.CreateTemp(dir, ".new-")
	if errors.Is(err, fs.ErrNotExist) && os.MkdirAll(dir, 0o700) == nil {
		temp, err = os.CreateTemp(dir, ".new-")
	}
	if err != nil {
		return
	}
	defer func() { _ = os.Remove(temp.Name()) }() // gone already after the rename
	_, err = temp.Write(data)
	if closeErr := temp.Close(); err != nil || closeErr != nil {
		return
	}
	_ = os.Rename(temp.Name(), name)
}
