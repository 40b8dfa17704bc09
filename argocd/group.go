package main

import (
	"os/exec"
	"syscall"
)

// ownGroup lets the command lead a process group, which takes in the commands
// that it starts itself.
func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// killGroup ends the process group of a command at once.
func killGroup(command *exec.Cmd) {
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
}
