package confine

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// tick is the unit of times in /proc. Source: proc_pid_stat(5); it is 100 Hz on
// every system that Go runs on.
const tick = 10 * time.Millisecond

// usage reads the CPU time that a process took so far and its resident size in
// bytes. ok is false where that cannot be told.
func usage(pid int) (cpu time.Duration, resident int64, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	// The name of the command, in parentheses, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 {
		return 0, 0, false
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(string(fields[i]), 10, 64)
		return n
	}
	return time.Duration(number(11)+number(12)) * tick, number(21) * int64(os.Getpagesize()), true
}

// executable is the program that runs, also where its file has been replaced since.
func executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Readlink(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

// peak is the greatest resident size of a process that has ended, in bytes.
func peak(state *os.ProcessState) int64 {
	if used, ok := state.SysUsage().(*syscall.Rusage); ok {
		return used.Maxrss << 10
	}
	return 0
}
