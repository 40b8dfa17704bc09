package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Listener is a net.Listener whose connections are made by Connect, in this
// process: it lets an http.Server answer what a WebhookBackend accepts.
//
// The connections are socket pairs, not net.Pipe: a TLS peer that refuses the
// other's certificate sends its alert while the other still writes, and over an
// unbuffered pipe both would wait for ever.
type Listener struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewListener makes an open Listener.
func NewListener() *Listener {
	return &Listener{accept: make(chan net.Conn), closed: make(chan struct{})}
}

// Connect returns the client's end of a new connection, when the server has
// accepted the other.
func (l *Listener) Connect(ctx context.Context) (net.Conn, error) {
	client, server, err := socketPair()
	if err != nil {
		return nil, err
	}
	select {
	case l.accept <- server:
		return client, nil
	case <-l.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(err, client.Close(), server.Close())
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "egress", Net: "unix"} }

func socketPair() (client, server net.Conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	ends := make([]net.Conn, len(fds))
	for i, fd := range fds {
		unix.CloseOnExec(fd)
		file := os.NewFile(uintptr(fd), "egress") //nolint:gosec // a descriptor is not negative
		var connErr error
		ends[i], connErr = net.FileConn(file) // a copy of the descriptor
		err = errors.Join(err, connErr, file.Close())
	}
	if err != nil {
		for _, end := range ends {
			if end != nil {
				_ = end.Close()
			}
		}
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	return ends[0], ends[1], nil
}
