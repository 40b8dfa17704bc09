package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rollout-ladder/ladder/internal/plane/pki"
)

// idle is how long a plane is left alone before its memory is read.
const idle = 5 * time.Second

// start is what it took to start something that serves the API of Kubernetes.
type start struct {
	ready  float64 // seconds from exec until /readyz is fine
	cpu    float64 // seconds of CPU time until then
	memory float64 // resident after having been idle, in megabytes
}

// plane measures how soon a control plane is ready and what it needs, against etcd
// and kube-apiserver of the same versions as two processes, which have no
// controllers, no scheduler, no nodes and no simulated world.
func (s *suite) plane(ctx context.Context) error {
	etcd, apiserver := filepath.Join(s.temp, "etcd"), filepath.Join(s.temp, "kube-apiserver")
	for _, arguments := range [][]string{
		{"-C", filepath.Join("test", "peers"), "-ldflags=-s -w", "-o", etcd, "go.etcd.io/etcd/server/v3"},
		{"-ldflags=-s -w", "-o", apiserver, "k8s.io/kubernetes/cmd/kube-apiserver"},
	} {
		build := exec.CommandContext(ctx, "go", append([]string{"build"}, arguments...)...)
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the peer: %w\n%s", err, out)
		}
	}
	var planes, peers []start
	for i := range s.runs {
		mine, err := s.startPlane(ctx, fmt.Sprintf("bench-%d", i))
		if err != nil {
			return err
		}
		theirs, err := s.startPeer(ctx, etcd, apiserver)
		if err != nil {
			return err
		}
		planes, peers = append(planes, mine), append(peers, theirs)
	}
	for _, m := range []struct {
		what, format string
		of           func(start) float64
		target       float64
	}{
		{"plane up, from exec until ready", "%.2f s", func(s start) float64 { return s.ready }, 0.5},
		{"plane, CPU time until ready", "%.2f s", func(s start) float64 { return s.cpu }, 0.6},
		{"plane, resident memory after 5 s idle", "%.0f MB", func(s start) float64 { return s.memory }, 1},
	} {
		mine, theirs := medianOf(planes, m.of), medianOf(peers, m.of)
		s.add(row{
			what: m.what, measured: fmt.Sprintf(m.format, mine), against: "etcd and kube-apiserver " + fmt.Sprintf(m.format, theirs),
			ratio: fmt.Sprintf("%.2f", mine/theirs), target: fmt.Sprintf("<= %.2f", m.target), ok: mine/theirs <= m.target,
		})
	}
	return nil
}

func medianOf(starts []start, figure func(start) float64) float64 {
	var all []float64
	for _, s := range starts {
		all = append(all, figure(s))
	}
	return median(all)
}

// startPlane starts a plane by the command and ends it again.
func (s *suite) startPlane(ctx context.Context, name string) (m start, err error) {
	home := "XDG_STATE_HOME=" + s.temp
	started := time.Now()
	if _, err := s.output(ctx, home, "plane", "up", name, "--quiet"); err != nil {
		return m, err
	}
	m.ready = time.Since(started).Seconds()
	defer func() {
		_, down := s.output(context.WithoutCancel(ctx), home, "plane", "down", name)
		err = errors.Join(err, down)
	}()
	pid, err := s.planePID(ctx, home, name)
	if err != nil {
		return m, err
	}
	if m.cpu, err = processTime(pid); err != nil {
		return m, err
	}
	if err := pause(ctx, idle); err != nil {
		return m, err
	}
	m.memory, err = residentMemory(pid)
	return m, err
}

// startPeer starts etcd and kube-apiserver at once and ends them again.
func (s *suite) startPeer(ctx context.Context, etcd, apiserver string) (m start, err error) {
	dir, err := os.MkdirTemp(s.temp, "peer-")
	if err != nil {
		return m, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	key, err := pki.NewKey()
	if err != nil {
		return m, err
	}
	tokens := filepath.Join(dir, "tokens.key")
	if err := os.WriteFile(tokens, key, 0o600); err != nil {
		return m, err
	}
	var ports [3]string
	for i := range ports {
		if ports[i], err = freePort(); err != nil {
			return m, err
		}
	}
	clients, members := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	started := time.Now()
	var pids []string
	for _, command := range [][]string{
		{
			etcd, "--data-dir=" + filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=error",
			"--listen-client-urls=" + clients, "--advertise-client-urls=" + clients,
			"--listen-peer-urls=" + members, "--initial-advertise-peer-urls=" + members, "--initial-cluster=default=" + members,
		},
		{
			apiserver, "--etcd-servers=" + clients, "--bind-address=127.0.0.1", "--secure-port=" + ports[2], "--cert-dir=" + dir,
			"--authorization-mode=RBAC", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + tokens, "--service-account-signing-key-file=" + tokens,
		},
	} {
		peer := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // built above
		if err := peer.Start(); err != nil {
			return m, err
		}
		defer func() {
			_ = peer.Process.Kill()
			_ = peer.Wait()
		}()
		pids = append(pids, strconv.Itoa(peer.Process.Pid))
	}
	if err := awaitReady(ctx, "https://127.0.0.1:"+ports[2]+"/readyz"); err != nil {
		return m, err
	}
	m.ready = time.Since(started).Seconds()
	for _, pid := range pids {
		used, err := processTime(pid)
		if err != nil {
			return m, err
		}
		m.cpu += used
	}
	if err := pause(ctx, idle); err != nil {
		return m, err
	}
	for _, pid := range pids {
		held, err := residentMemory(pid)
		if err != nil {
			return m, err
		}
		m.memory += held
	}
	return m, nil
}

// freePort is a port of the loopback address that nobody uses.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

// awaitReady waits until an address answers that all is well.
func awaitReady(ctx context.Context, address string) error {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // it signs its certificate itself, on the loopback address
	}}
	defer client.CloseIdleConnections()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("the peer is not ready: %w", err)
		}
	}
}

// residentMemory is that of a process, in megabytes. Source: proc_pid_status(5).
func residentMemory(pid string) (float64, error) {
	status, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
	if err != nil {
		return 0, err
	}
	for entry := range bytes.Lines(status) {
		var kilobytes float64
		if n, _ := fmt.Sscanf(string(entry), "VmRSS: %f kB", &kilobytes); n == 1 {
			return kilobytes * 1024 / 1e6, nil
		}
	}
	return 0, fmt.Errorf("/proc/%s/status says nothing of memory", pid)
}
