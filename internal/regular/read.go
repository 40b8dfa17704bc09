package regular

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrIrregular says that a path is a folder, a pipe, a socket or a device.
var ErrIrregular = errors.New("not a regular file")

// TooLargeError says that a file is larger than may be read.
type TooLargeError struct {
	// Limit in bytes.
	Limit int64
}

func (e *TooLargeError) Error() string { return fmt.Sprintf("larger than %d MiB", e.Limit>>20) }

// Read returns the content of a regular file of at most limit bytes. Symbolic
// links are followed. Errors are ErrIrregular, a *TooLargeError, or those of the
// file system.
func Read(name string, limit int64) ([]byte, error) {
	// Without O_NONBLOCK a pipe would block until somebody writes to it. The
	// runtime sets that flag for every file itself otherwise, and takes it off
	// again, with four system calls.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket
		return nil, ErrIrregular
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrIrregular
	}
	return read(f, info.Size(), limit)
}

// read reads to the end of a file that was of a size. A file that grows meanwhile
// is read as far as it goes by then.
func read(f io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, &TooLargeError{limit}
	}
	data := make([]byte, 0, size+1) // one more, to see the end
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > limit:
			return nil, &TooLargeError{limit}
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}
