package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Rights below a folder.
const (
	reading   = landlocksys.AccessFSReadFile | landlocksys.AccessFSReadDir
	executing = landlocksys.AccessFSExecute | landlocksys.AccessFSReadFile
	writing   = reading | landlocksys.AccessFSWriteFile | landlocksys.AccessFSTruncate | landlocksys.AccessFSMakeReg | landlocksys.AccessFSMakeDir |
		landlocksys.AccessFSMakeSym | landlocksys.AccessFSMakeSock | landlocksys.AccessFSRemoveFile | landlocksys.AccessFSRemoveDir | landlocksys.AccessFSRefer
)

// noNetwork takes from the process, and from all that it starts, every connection but
// those to sockets of this machine.
func noNetwork() error {
	return filter(seccomp.SyscallGroup{
		Action: seccomp.ActionErrno,
		Names:  []string{"io_uring_setup"}, // it opens sockets too
		NamesWithCondtions: []seccomp.NameWithConditions{
			{Name: "socket", Conditions: []seccomp.Condition{{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_UNIX}}},
		},
	})
}

func filter(group seccomp.SyscallGroup) error {
	return seccomp.LoadFilter(seccomp.Filter{
		NoNewPrivs: true, Flag: seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{group}},
	})
}

// confineCommand leaves a command that evaluates a repository the files that it works
// on, and no program but itself and, where something may be fetched, git. A
// kustomization has more than one way to start a program; none of them finds a shell.
func confineCommand(mode string, offline bool) error {
	if mode == confineOff {
		return nil
	}
	rules, err := commandRules(offline)
	if err != nil {
		return err
	}
	if _, err := landlocksys.LandlockGetABIVersion(); err == nil {
		return landlock.V6.BestEffort().RestrictPaths(rules...)
	}
	if mode == confineRequired {
		return errors.New("the kernel has no Landlock, which --confine required asks for")
	}
	// Without Landlock nobody can tell programs apart: none is started.
	return filter(seccomp.SyscallGroup{Action: seccomp.ActionErrno, Names: []string{"execve", "execveat"}})
}

func commandRules(offline bool) ([]landlock.Rule, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working folder: %w", err)
	}
	programs := []string{self}
	var folders []string
	if git, err := exec.LookPath("git"); err == nil && !offline {
		programs = append(programs, git)
		if core, err := exec.Command(git, "--exec-path").Output(); err == nil {
			folders = append(folders, strings.TrimSpace(string(core)))
		}
	}
	for _, program := range programs {
		if loader := interpreter(program); loader != "" {
			programs = append(programs, loader)
		}
	}
	return []landlock.Rule{
		landlock.PathAccess(executing, programs...).IgnoreIfMissing(),
		landlock.PathAccess(executing|reading, folders...).IgnoreIfMissing(),
		landlock.PathAccess(writing, here, os.TempDir(), os.Getenv("HOME")).IgnoreIfMissing(),
		landlock.PathAccess(reading, "/etc", "/usr/share", "/usr/local/share", "/usr/lib", "/lib", "/lib64", "/proc/self").IgnoreIfMissing(),
		landlock.PathAccess(landlocksys.AccessFSReadFile|landlocksys.AccessFSWriteFile, "/dev/null", "/dev/urandom").IgnoreIfMissing(),
	}, nil
}

// interpreter is the loader of a program; empty for one that needs none.
func interpreter(program string) string {
	file, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	for _, p := range file.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, p.Filesz)
		if _, err := p.ReadAt(name, 0); err == nil {
			return strings.TrimRight(string(name), "\x00")
		}
	}
	return ""
}
