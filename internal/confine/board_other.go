//go:build !linux

package confine

import "os"

// boardFile is a file without a name.
func boardFile() (*os.File, error) {
	file, err := os.CreateTemp("", "ladder-board-")
	if err == nil {
		_ = os.Remove(file.Name())
	}
	return file, err
}
