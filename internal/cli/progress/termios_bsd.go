//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package progress

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
	// noCharacter switches a control character off. Source: termios(4),
	// _POSIX_VDISABLE.
	noCharacter = 0xff
)
