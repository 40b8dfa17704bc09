package progress

import (
	"fmt"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Keys that are not letters.
const (
	keyInterrupt = 0x03 // Ctrl-C
	keyEscape    = 0x1b
)

// pollEvery is how often a keyboard that waits for a key looks whether it was
// closed, in milliseconds.
const pollEvery = 100

// keyboard reads single keys from a terminal. While it is open the terminal
// shows no typed characters, and Ctrl-C is a key. Everything else stays as it
// is: output needs no carriage returns, Ctrl-Z and Ctrl-\ work, so that a
// process that is killed leaves a terminal that a shell can be used on.
type keyboard struct {
	fd  int
	old *term.State
	// key is called with every key, moved when something else may have been
	// printed, from two goroutines.
	key   func(byte)
	moved func()

	signals chan os.Signal
	stop    chan struct{}
	work    sync.WaitGroup
	once    sync.Once
}

// openKeyboard starts to read keys. It fails for what is no terminal, and in the
// background: a process there that changes the terminal is stopped.
func openKeyboard(in *os.File, key func(byte), moved func()) (*keyboard, error) {
	k := &keyboard{
		fd: int(in.Fd()), key: key, moved: moved,
		signals: make(chan os.Signal, 4), stop: make(chan struct{}),
	}
	if !foreground(k.fd) {
		return nil, fmt.Errorf("read keys: %s is not the terminal of this process", in.Name())
	}
	var err error
	if k.old, err = term.GetState(k.fd); err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	if err := k.listen(); err != nil {
		return nil, err
	}
	signal.Notify(k.signals, unix.SIGTSTP, unix.SIGCONT)
	k.work.Go(k.read)
	k.work.Go(k.suspend)
	return k, nil
}

// close gives the terminal back as it was.
func (k *keyboard) close() {
	k.once.Do(func() {
		signal.Stop(k.signals)
		close(k.stop)
		k.work.Wait()
		k.restore()
	})
}

func (k *keyboard) listen() error {
	mode, err := unix.IoctlGetTermios(k.fd, getTermios)
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	mode.Lflag &^= unix.ICANON | unix.ECHO
	mode.Iflag &^= unix.IXON // a terminal that Ctrl-S stops would stop what is drawn
	mode.Cc[unix.VINTR] = noCharacter
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(k.fd, setTermios, mode); err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	return nil
}

func (k *keyboard) restore() {
	if foreground(k.fd) {
		_ = term.Restore(k.fd, k.old) // a terminal that is gone needs no mode
	}
}

// read passes keys on. What starts with an escape and goes on is a key that
// nobody asks for here, such as an arrow.
func (k *keyboard) read() {
	buffer := make([]byte, 64)
	for {
		select {
		case <-k.stop:
			return
		default:
		}
		ready := []unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(ready, pollEvery); err != nil || n == 0 || !foreground(k.fd) {
			if err != nil && err != unix.EINTR {
				return
			}
			if n > 0 && !k.pause() {
				return
			}
			continue
		}
		n, err := unix.Read(k.fd, buffer)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil || n == 0:
			return // the terminal is gone
		case n > 1 && buffer[0] == keyEscape:
			continue
		}
		for _, key := range buffer[:n] {
			k.key(key)
		}
	}
}

// pause waits a moment; it reports false when the keyboard was closed.
func (k *keyboard) pause() bool {
	_, _ = unix.Poll(nil, pollEvery)
	select {
	case <-k.stop:
		return false
	default:
		return true
	}
}

// suspend gives the terminal back while the process is stopped (Ctrl-Z), and
// takes it again when it goes on in the foreground. What ends a process sends it
// SIGCONT as well, as timeout of coreutils does: then nothing was printed meanwhile.
func (k *keyboard) suspend() {
	stopped := false
	for {
		select {
		case <-k.stop:
			return
		case s := <-k.signals:
			if s == unix.SIGTSTP {
				k.restore()
				stopped = true
				_ = unix.Kill(unix.Getpid(), unix.SIGSTOP) // ourselves
				continue
			}
			if foreground(k.fd) {
				_ = k.listen() // without keys the run goes on all the same
				if stopped {
					k.moved()
				}
				stopped = false
			}
		}
	}
}

// foreground reports whether the process may read and change the terminal.
func foreground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
