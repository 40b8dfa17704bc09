//go:build unix

package confine

import (
	"os/exec"
	"syscall"
)

// apart gives a process a group of its own, so that it does not get the signals of
// the terminal.
func apart(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
