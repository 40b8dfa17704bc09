package progress

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
	// noCharacter switches a control character off. Source: termios(3),
	// _POSIX_VDISABLE.
	noCharacter = 0
)
