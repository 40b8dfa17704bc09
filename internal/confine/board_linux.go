package confine

import (
	"os"

	"golang.org/x/sys/unix"
)

// boardFile is memory, and no file of any file system.
func boardFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("ladder-board", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "ladder-board"), nil
}
