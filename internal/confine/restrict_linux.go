package confine

import (
	"os"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Limits of a worker's memory, in bytes. RLIMIT_DATA counts what is mapped for
// writing; RLIMIT_AS would count what Go only reserves.
const (
	maxData = 896 << 20
)

// permitted are the system calls that the Go runtime and the C library need to
// compute, to read and write pipes that are open, and to end. Everything else is
// refused: no list of what is dangerous is needed.
func permitted() []string {
	return []string{
		"read", "write", "readv", "writev", "close", "fcntl", "fstat", "lseek",
		"mmap", "munmap", "mprotect", "mremap", "madvise", "brk", "mincore",
		"futex", "sched_yield", "sched_getaffinity", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday",
		"epoll_create1", "epoll_ctl", "epoll_pwait", "eventfd2", "ppoll",
		"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
		"getpid", "gettid", "getrandom", "getrusage", "getuid", "geteuid", "getgid", "getegid",
		"set_robust_list", "rseq", "membarrier", "exit", "exit_group", "uname", "sysinfo",
	}
}

// restrict confines the process. What it does not get is told, not an error.
func restrict(mode Mode) Confinement {
	var c Confinement
	lacking := func(what string, err error) { c.Lacking = append(c.Lacking, what+": "+err.Error()) }
	for _, limit := range []struct{ which, value int }{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_DATA, maxData}} {
		value := uint64(limit.value) //nolint:gosec // constants
		if err := unix.Setrlimit(limit.which, &unix.Rlimit{Cur: value, Max: value}); err != nil {
			lacking("limits", err)
		} else if limit.which == unix.RLIMIT_DATA {
			c.Memory = maxData
		}
	}
	if mode == Off {
		c.Lacking = append(c.Lacking, "Landlock and seccomp: switched off")
		return c
	}
	version, err := landlocksys.LandlockGetABIVersion()
	if err == nil {
		err = landlock.V6.BestEffort().Restrict() // no path, no port, no signal to others
	}
	if err != nil {
		lacking("Landlock", err)
	} else {
		c.Landlock = version
	}
	if err := seccomp.LoadFilter(filter()); err != nil {
		lacking("seccomp", err)
	} else {
		c.Seccomp = true
	}
	return c
}

func filter() seccomp.Filter {
	return seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync, // all threads that are there already
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionErrno,
			Syscalls: []seccomp.SyscallGroup{
				{Action: seccomp.ActionAllow, Names: permitted(), NamesWithCondtions: []seccomp.NameWithConditions{
					// A thread and not a process. One flag only: BitsSet is true for any bit.
					{Name: "clone", Conditions: []seccomp.Condition{{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}}},
					// Signals to threads of its own.
					{Name: "tgkill", Conditions: []seccomp.Condition{{Argument: 0, Operation: seccomp.Equal, Value: uint64(os.Getpid())}}}, //nolint:gosec // never negative
				}},
				// The flags of clone3 are out of a filter's sight. The C library takes
				// clone where there is no clone3.
				{Action: seccomp.ActionErrno&^0xffff | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}},
			},
		},
	}
}
