package planetest

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Socket is where a process waits for others.
type Socket struct {
	// Network is that of package net: tcp, udp or unix.
	Network string
	// Address is a host with a port, an absolute path, or for a socket of the
	// abstract kind its name, which begins with "@".
	Address string
	// Process is the command line of the process.
	Process string
}

// Processes are a process and all below it. Only Linux tells them: the test is
// skipped elsewhere.
func Processes(t testing.TB, root int) []int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lists processes in /proc")
	}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		// The name in parentheses may hold anything; state and parent come after it.
		// Source: proc_pid_stat(5).
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		children[parent] = append(children[parent], pid)
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// Sockets are all sockets on which processes wait for others, whatever they are
// for.
func Sockets(t testing.TB, pids ...int) []Socket {
	t.Helper()
	var all []Socket
	for _, pid := range pids {
		found, err := socketsOf(filepath.Join("/proc", strconv.Itoa(pid)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has ended
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b Socket) int {
		return strings.Compare(a.Network+a.Address+a.Process, b.Network+b.Address+b.Process)
	})
	return slices.Compact(all)
}

// socketsOf are the sockets of the process with that folder of /proc.
func socketsOf(process string) ([]Socket, error) {
	open, err := inodes(process)
	if err != nil {
		return nil, err
	}
	command, err := os.ReadFile(filepath.Join(process, "cmdline"))
	if err != nil {
		return nil, err
	}
	folder, err := os.Readlink(filepath.Join(process, "cwd"))
	if err != nil {
		return nil, err
	}
	var all []Socket
	for _, table := range []struct {
		name string
		read func(fields []string) (address, inode string, waits bool, err error)
	}{
		{"tcp", internet("0A")}, {"tcp6", internet("0A")}, // TCP_LISTEN
		{"udp", internet("07")}, {"udp6", internet("07")}, // bound, not connected
		{"raw", internet("07")}, {"raw6", internet("07")},
		{"unix", local},
	} {
		text, err := os.ReadFile(filepath.Join(process, "net", table.name))
		if errors.Is(err, fs.ErrNotExist) && table.name != "tcp" && table.name != "unix" {
			continue // a machine without IPv6
		}
		if err != nil {
			return nil, err
		}
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
			address, inode, waits, err := table.read(strings.Fields(line))
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", table.name, line, err)
			}
			if !waits || !open[inode] {
				continue
			}
			if table.name == "unix" && !strings.HasPrefix(address, "@") && !filepath.IsAbs(address) {
				address = filepath.Join(folder, address)
			}
			all = append(all, Socket{
				Network: strings.TrimSuffix(table.name, "6"), Address: address,
				Process: strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " ")),
			})
		}
	}
	return all, nil
}

// inodes are those of the sockets that a process has open.
func inodes(process string) (map[string]bool, error) {
	files, err := os.ReadDir(filepath.Join(process, "fd"))
	if err != nil {
		return nil, err
	}
	open := map[string]bool{}
	for _, f := range files {
		target, err := os.Readlink(filepath.Join(process, "fd", f.Name()))
		if err != nil {
			continue // it was closed
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			open[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return open, nil
}

// internet reads a line of /proc/net/tcp and its like. Source: proc_net(5).
func internet(waiting string) func([]string) (string, string, bool, error) {
	return func(fields []string) (string, string, bool, error) {
		if len(fields) < 10 {
			return "", "", false, errors.New("too short")
		}
		address, err := hexAddress(fields[1])
		return address, fields[9], fields[3] == waiting, err
	}
}

// hexAddress reads an address in words of the byte order of the machine, which is
// a little-endian one, with a port.
func hexAddress(text string) (string, error) {
	host, port, _ := strings.Cut(text, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return "", err
	}
	raw, err := hex.DecodeString(host)
	if err != nil {
		return "", err
	}
	for word := 0; word+4 <= len(raw); word += 4 {
		binary.LittleEndian.PutUint32(raw[word:], binary.BigEndian.Uint32(raw[word:]))
	}
	address, ok := netip.AddrFromSlice(raw)
	if !ok {
		return "", errors.New("neither IPv4 nor IPv6")
	}
	return netip.AddrPortFrom(address.Unmap(), uint16(number)).String(), nil
}

// local reads a line of /proc/net/unix. Source: unix(7) and proc_net(5).
func local(fields []string) (address, inode string, waits bool, err error) {
	if len(fields) < 7 {
		return "", "", false, errors.New("too short")
	}
	if len(fields) > 7 {
		address = strings.Join(fields[7:], " ")
	}
	flags, err := strconv.ParseUint(fields[3], 16, 32)
	const accepts, datagram = 0x10000, "0002" // __SO_ACCEPTCON, SOCK_DGRAM
	return address, fields[6], flags&accepts != 0 || fields[4] == datagram && address != "", err
}
