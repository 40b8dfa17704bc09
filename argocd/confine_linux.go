package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// Versions of Landlock. Source: landlock(7).
const (
	landlockFiles = 1 // Linux 5.13
	landlockPorts = 4 // Linux 6.7
)

// confinable tells whether the kernel can hold every part.
func confinable(mode string, offline bool) error {
	if mode == confineOff {
		return nil
	}
	version, err := landlocksys.LandlockGetABIVersion()
	switch {
	case err != nil || version < landlockFiles:
		return &unconfinedError{"it has no Landlock (Linux 5.13)"}
	case offline && version < landlockPorts:
		return &unconfinedError{"its Landlock has no ports (Linux 6.7), which --offline needs"}
	}
	return nil
}

// confineCommand leaves a command that evaluates a repository the files that it works
// on, and no program but itself and, where something may be fetched, git. A
// kustomization has more than one way to start a program; none of them finds a shell.
func confineCommand(mode string, offline bool) error {
	if err := confinable(mode, offline); err != nil || mode == confineOff {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	var programs []string
	if !offline {
		programs = []string{"git"}
	}
	rules, err := fileRules(programs...)
	if err != nil {
		return err
	}
	return landlock.V6.BestEffort().RestrictPaths(append(rules, landlock.PathAccess(writing, here, os.TempDir(), os.Getenv("HOME")).IgnoreIfMissing())...)
}

// confineRepositories leaves the repo server its folder, the repositories of this
// machine that it is to read, and the programs by which git reads them: git starts
// itself through a shell.
func confineRepositories(o options) error {
	if o.confine == confineOff {
		return nil
	}
	programs := []string{"git", "sh"}
	if !o.offline {
		programs = append(programs, "ssh")
	}
	rules, err := fileRules(programs...)
	if err != nil {
		return err
	}
	rules = append(rules, landlock.PathAccess(writing, o.dir))
	if o.repositories != "" {
		rules = append(rules, landlock.PathAccess(reading, o.repositories))
	}
	return landlock.V6.BestEffort().RestrictPaths(rules...)
}

// confineController leaves a controller its folder and the control plane: no program,
// though clusters may name one that knows their password; no other file, though a
// health check in Lua may ask for the library that opens them; no other connection.
func confineController(o options) error {
	if o.confine == confineOff {
		return nil
	}
	config, err := access(o)
	if err != nil {
		return err
	}
	port, err := portOf(config.Host)
	if err != nil {
		return fmt.Errorf("find the port of the control plane: %w", err)
	}
	const datagrams = unix.SOCK_DGRAM // and raw sockets, whose number has this bit too
	err = filter(seccomp.SyscallGroup{
		Action: seccomp.ActionErrno,
		Names:  []string{"execve", "execveat", "io_uring_setup"},
		NamesWithCondtions: []seccomp.NameWithConditions{{Name: "socket", Conditions: []seccomp.Condition{
			{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_UNIX},
			{Argument: 1, Operation: seccomp.BitsSet, Value: datagrams},
		}}},
	})
	if err != nil {
		return err
	}
	return landlock.V6.BestEffort().Restrict(
		landlock.PathAccess(writing, o.dir),
		landlock.PathAccess(landlocksys.AccessFSReadFile, o.kubeconfig),
		landlock.ConnectTCP(port),
		landlock.BindTCP(0), // see silence
	)
}

// fileRules let a process start itself and some programs, and read what they need of
// the system.
func fileRules(names ...string) ([]landlock.Rule, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	helm, err := helmProgram()
	if err != nil {
		return nil, err
	}
	programs := []string{self, helm}
	var folders []string
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue // what needs it says so
		}
		programs = append(programs, path)
		if name != "git" {
			continue
		}
		if core, err := exec.Command(path, "--exec-path").Output(); err == nil {
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
		landlock.PathAccess(reading, "/etc", "/usr/share", "/usr/local/share", "/usr/lib", "/lib", "/lib64", "/nix/store", "/proc/self").IgnoreIfMissing(),
		landlock.PathAccess(landlocksys.AccessFSReadFile, elsewhere()...).IgnoreIfMissing(),
		landlock.PathAccess(landlocksys.AccessFSReadFile|landlocksys.AccessFSWriteFile, "/dev/null", "/dev/urandom").IgnoreIfMissing(),
	}, nil
}

// elsewhere are files by which hosts are found and trusted that may lie outside of the
// folders of the system: systemd keeps resolv.conf below /run.
func elsewhere() []string {
	var files []string
	for _, file := range []string{"/etc/resolv.conf", os.Getenv("SSL_CERT_FILE")} {
		if real, err := filepath.EvalSymlinks(file); file != "" && err == nil {
			files = append(files, real)
		}
	}
	return files
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
