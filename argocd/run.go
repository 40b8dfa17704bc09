package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

const (
	// readyPatience is how long the parts may take until they are ready.
	readyPatience = 90 * time.Second
	readyPoll     = 50 * time.Millisecond
	// manifestsAtOnce bounds how many manifests the repo server makes at once: each
	// is a process of 100 MB.
	manifestsAtOnce = 4
	logLines        = 10
)

// message is what run tells on standard output: once that everything is ready,
// or why it is not.
type message struct {
	Ready bool `json:"ready"`
	// ArgoCD is the version of Argo CD.
	ArgoCD string `json:"argocd,omitempty"`
	// Seconds is the time from the start until everything was ready.
	Seconds float64 `json:"seconds,omitempty"`
	// Logs is the folder of the logs, one file for each part.
	Logs string `json:"logs,omitempty"`
	// Processes are the parts by name.
	Processes map[string]int `json:"processes,omitempty"`
	Error     string         `json:"error,omitempty"`
}

// run runs Argo CD until standard input ends, ctx does, or a part ends, which is
// an error.
func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	started := time.Now()
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		stop()
	}()
	a := &argo{options: o, ended: make(chan error, 1)}
	defer a.stop()
	if err := a.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // nobody wants it any more
		}
		return errors.Join(err, tell(stdout, message{Error: err.Error()}))
	}
	err = tell(stdout, message{
		Ready: true, ArgoCD: version(), Seconds: time.Since(started).Seconds(),
		Logs: filepath.Join(o.dir, logFolder), Processes: a.processes(),
	})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-a.ended:
		return errors.Join(err, tell(stdout, message{Error: err.Error()}))
	}
}

func tell(w io.Writer, m message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode the message: %w", err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("tell the caller: %w", err)
	}
	return nil
}

// argo is a running Argo CD.
type argo struct {
	options options
	parts   []*part
	// ended is told the first part that ended by itself.
	ended chan error
}

// part is a process that runs one part of Argo CD.
type part struct {
	name    string
	command *exec.Cmd
	stdin   io.WriteCloser
	done    chan struct{}
	// health answers 200 when the part is ready.
	health string
}

// start starts Redis and the parts, and waits until all are ready.
func (a *argo) start(ctx context.Context) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the running program: %w", err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return errors.New("the repo server of Argo CD needs the command git, which is not on PATH")
	}
	if err := makeFolders(a.options.dir, executable); err != nil {
		return err
	}
	password := rand.Text()
	redis, err := startRedis(ctx, password)
	if err != nil {
		return err
	}
	ports, err := freePorts(6)
	if err != nil {
		return err
	}
	at := func(i int) string { return "127.0.0.1:" + strconv.Itoa(ports[i]) }
	port := func(i int) string { return strconv.Itoa(ports[i]) }
	common := []string{"--kubeconfig", a.options.kubeconfig, "--namespace", a.options.namespace, "--loglevel", a.options.logLevel}
	env := environment(a.options, password, os.Getenv)
	for _, p := range []struct {
		name, health string
		args         []string
	}{
		{repoServer, "http://" + at(1) + "/healthz?full=true", []string{
			"--address", "127.0.0.1", "--port", port(0), "--metrics-address", "127.0.0.1", "--metrics-port", port(1),
			"--redis", redis, "--disable-tls", "--parallelismlimit", strconv.Itoa(manifestsAtOnce), "--loglevel", a.options.logLevel,
		}},
		{applicationController, "http://" + at(2) + "/healthz", append([]string{
			"--repo-server", at(0), "--repo-server-plaintext", "--redis", redis, "--metrics-port", port(2),
		}, common...)},
		// Its probe answers nothing, since it has no checks.
		{setController, "http://" + at(3) + "/metrics", append([]string{
			"--argocd-repo-server", at(0), "--repo-server-plaintext", "--enable-progressive-syncs", "--enable-scm-providers=false",
			"--metrics-addr", at(3), "--probe-addr", at(4), "--webhook-addr", at(5),
		}, common...)},
	} {
		if err := a.spawn(executable, p.name, p.health, p.args, env); err != nil {
			return err
		}
	}
	return a.awaitReady(ctx)
}

// spawn starts one part, which leads a process group of its own, with a log file.
func (a *argo) spawn(executable, name, health string, args, env []string) error {
	log, err := os.OpenFile(a.log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer func() { _ = log.Close() }() // the part has its own copy
	command := exec.Command(executable, append([]string{partCommand, name}, args...)...)
	command.Dir, command.Env = a.options.dir, env
	command.Stdout, command.Stderr = log, log
	ownGroup(command)
	stdin, err := command.StdinPipe()
	if err != nil {
		return fmt.Errorf("reach %s: %w", name, err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	p := &part{name: name, command: command, stdin: stdin, done: make(chan struct{}), health: health}
	a.parts = append(a.parts, p)
	go func() {
		err := command.Wait()
		close(p.done)
		select {
		case a.ended <- fmt.Errorf("%s ended: %v\n%s", name, err, lastLines(a.log(name), logLines)):
		default: // another one ended before
		}
	}()
	return nil
}

func (a *argo) log(name string) string {
	return filepath.Join(a.options.dir, logFolder, name+".log")
}

func (a *argo) processes() map[string]int {
	all := map[string]int{}
	for _, p := range a.parts {
		all[p.name] = p.command.Process.Pid
	}
	return all
}

// awaitReady waits until every part says that it is healthy.
func (a *argo) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for _, p := range a.parts {
		for !healthy(ctx, p.health) {
			select {
			case err := <-a.ended:
				return err
			case <-ctx.Done():
				return fmt.Errorf("%s is not ready after %s\n%s", p.name, readyPatience, lastLines(a.log(p.name), logLines))
			case <-tick.C:
			}
		}
	}
	return nil
}

func healthy(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// stop ends every part with the commands that it runs, and waits for the end.
// There is nothing to save: what counts is on the control plane.
func (a *argo) stop() {
	for _, p := range a.parts {
		killGroup(p.command)
		_ = p.stdin.Close()
	}
	for _, p := range a.parts {
		<-p.done
	}
}

// freePorts are ports of the loopback address that nobody listens on.
func freePorts(count int) ([]int, error) {
	var ports []int
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = l.Close() }() // all stay open until all are found, so that they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
