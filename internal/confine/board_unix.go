//go:build unix

package confine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// newBoard makes a board and the file by which a worker gets it.
func newBoard() (board, *os.File, error) {
	file, err := boardFile()
	if err != nil {
		return nil, nil, fmt.Errorf("make the memory that a worker shares: %w", err)
	}
	if err = file.Truncate(boardSize); err == nil {
		var b board
		if b, err = openBoard(file); err == nil {
			return b, file, nil
		}
	}
	_ = file.Close()
	return nil, nil, fmt.Errorf("make the memory that a worker shares: %w", err)
}

func openBoard(file *os.File) (board, error) {
	return unix.Mmap(int(file.Fd()), 0, boardSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED) //nolint:gosec // a descriptor
}

func (b board) close() {
	if b != nil {
		_ = unix.Munmap(b)
	}
}
