package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ticks is how many of the system's units of CPU time are a second. Source:
// proc_pid_stat(5), sysconf(_SC_CLK_TCK); it is 100 on every Linux that Go runs on.
const ticks = 100

// meters are counters of a plane and of the machine, of which only differences
// mean something.
type meters struct {
	requests float64
	// plane is the CPU time of the plane's process; busy that of every process of the
	// machine, total what there was of it; in seconds.
	plane, busy, total float64
}

// meters reads the counters.
func (s *suite) meters(ctx context.Context, home, plane string) (m meters, err error) {
	if m.requests, err = s.requests(ctx, home, plane); err != nil {
		return m, err
	}
	pid, err := s.planePID(ctx, home, plane)
	if err != nil {
		return m, err
	}
	if m.plane, err = processTime(pid); err != nil {
		return m, err
	}
	m.busy, m.total, err = machineTime()
	return m, err
}

// access is the way to a plane.
func (s *suite) access(ctx context.Context, home, plane string) (*rest.Config, error) {
	file, err := s.output(ctx, home, "plane", "kubeconfig", plane, "--path")
	if err != nil {
		return nil, err
	}
	access, err := clientcmd.BuildConfigFromFlags("", strings.TrimSpace(string(file)))
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the plane: %w", err)
	}
	return access, nil
}

// requests is what the API server of a plane has answered since it started, as its
// own metric says.
func (s *suite) requests(ctx context.Context, home, plane string) (float64, error) {
	access, err := s.access(ctx, home, plane)
	if err != nil {
		return 0, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(access)
	if err != nil {
		return 0, fmt.Errorf("connect to the plane: %w", err)
	}
	text, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the metrics of the plane: %w", err)
	}
	sum, found := 0.0, false
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("apiserver_request_total{")) {
			continue
		}
		fields := bytes.Fields(line)
		n, err := strconv.ParseFloat(string(fields[len(fields)-1]), 64)
		if err != nil {
			return 0, fmt.Errorf("read the metrics of the plane: %w", err)
		}
		sum, found = sum+n, true
	}
	if !found {
		return 0, errors.New("the plane has no metric apiserver_request_total")
	}
	return sum, nil
}

// planePID is the process of a plane.
func (s *suite) planePID(ctx context.Context, home, name string) (string, error) {
	out, err := s.output(ctx, home, "plane", "list")
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(out) {
		if fields := strings.Fields(string(line)); len(fields) >= 4 && fields[0] == name {
			return fields[3], nil
		}
	}
	return "", fmt.Errorf("plane %s is not in the list", name)
}

// processTime is the CPU time of a process in seconds. Source: proc_pid_stat(5).
func processTime(pid string) (float64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0, err
	}
	// The name in parentheses may hold anything; the state is the first field after.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%s/stat has %d fields", pid, len(fields))
	}
	return sum(fields[11:13])
}

// machineTime is the CPU time of the machine in seconds: what was used, and what
// there was. Source: proc_stat(5).
func machineTime() (busy, total float64, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("/proc/stat begins with %q", first)
	}
	// user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
	if total, err = sum(fields[1:9]); err != nil {
		return 0, 0, err
	}
	idle, err := sum(fields[4:6])
	return total - idle, total, err
}

// sum adds units of CPU time up, in seconds.
func sum(fields []string) (float64, error) {
	all := 0.0
	for _, f := range fields {
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return 0, fmt.Errorf("read a CPU time: %w", err)
		}
		all += n
	}
	return all / ticks, nil
}
