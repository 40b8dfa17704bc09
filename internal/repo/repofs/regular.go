package repofs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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

// ReadRegular returns the content of a regular file of at most limit bytes, which
// need not be in a Tree. Symbolic links are followed. Errors are ErrIrregular, a
// *TooLargeError, or those of the file system, as a *fs.PathError.
func ReadRegular(name string, limit int64) ([]byte, error) {
	// Without O_NONBLOCK a pipe would block until somebody writes to it.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.EAGAIN) {
		// Another process holds a lease on it, as file servers do, and has been asked
		// to give it back: only regular files have leases. Source: fcntl(2).
		f, err = os.Open(name)
	}
	switch {
	case errors.Is(err, syscall.ENXIO): // a socket
		return nil, ErrIrregular
	case err != nil:
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, ErrIrregular
	case info.Size() > limit:
		return nil, &TooLargeError{limit}
	}
	data := make([]byte, info.Size()+1) // one more, to see the end
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return data[:n], nil
	}
	if err != nil {
		return nil, err
	}
	// It has grown meanwhile, and is read as far as it goes by now.
	rest, err := io.ReadAll(io.LimitReader(f, limit))
	if int64(len(data)+len(rest)) > limit {
		return nil, &TooLargeError{limit}
	}
	return slices.Concat(data, rest), err
}
