package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
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
// file system, as a *fs.PathError.
func Read(name string, limit int64) ([]byte, error) {
	failed := func(op string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }
	// Package os prepares every file for waiting on it, which regular files do not
	// need: half of the system calls of reading a small one, and a finalizer.
	//
	// Without O_NONBLOCK a pipe would block until somebody writes to it.
	fd, err := open(name, syscall.O_NONBLOCK)
	if errors.Is(err, syscall.EAGAIN) {
		// Another process holds a lease on it, as file servers do, and has been asked
		// to give it back: only regular files have leases. Source: fcntl(2).
		fd, err = open(name, 0)
	}
	switch {
	case errors.Is(err, syscall.ENXIO): // a socket
		return nil, ErrIrregular
	case err != nil:
		return nil, failed("open", err)
	}
	defer func() { _ = syscall.Close(fd) }()
	var info syscall.Stat_t
	if _, err := again(func() (int, error) { return 0, syscall.Fstat(fd, &info) }); err != nil {
		return nil, failed("stat", err)
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, ErrIrregular
	}
	data, err := read(descriptor(fd), info.Size, limit)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return nil, failed("read", errno)
	}
	return data, err
}

func open(name string, flags int) (int, error) {
	return again(func() (int, error) {
		return syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NOCTTY|flags, 0)
	})
}

// descriptor is an open file.
type descriptor int

func (d descriptor) Read(p []byte) (int, error) {
	n, err := again(func() (int, error) { return syscall.Read(int(d), p) })
	if err != nil {
		return 0, err
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// again repeats what a signal interrupts, as package os does.
func again(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
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
