package argocd

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	// DefaultNamespace is Argo CD's own. Source: Argo CD's installation manifests.
	DefaultNamespace = "argocd"
	startPatience    = 2 * time.Minute
	stopPatience     = 10 * time.Second
	// maxMessage bounds one line of what the binary tells.
	maxMessage = 1 << 20
	runLog     = "ladder-argocd.log"
)

// Options say how Argo CD runs.
type Options struct {
	// Executable is the binary (see Find).
	Executable string
	// Kubeconfig is that of the plane.
	Kubeconfig string
	// Dir is a folder for everything that is written: work trees, logs. It is made
	// and is the caller's to remove.
	Dir string
	// Namespace is that of the Applications; default DefaultNamespace.
	Namespace string
	// Reconcile is the time between two looks at an Application and at its
	// repository; 0 means the binary's.
	Reconcile time.Duration
	// WaveDelay is the rest between two sync waves; Argo CD's own is 2 s.
	WaveDelay time.Duration
	// ClientQPS bounds the requests per second of each controller to the API
	// server; 0 means Argo CD's own 50.
	ClientQPS int
	// ObjectHealth has the status of Applications say how healthy each object is.
	ObjectHealth bool
	// Confine says whether the kernel confines it: auto and required, which are one
	// here, or off; default auto.
	Confine string
	// Offline keeps everything that reads a repository from the network.
	Offline bool
	// Repositories is the folder of the repositories of this machine (file://) that it
	// may read; empty allows none.
	Repositories string
	// LogLevel is that of the controllers: debug, info, warn or error; default warn.
	LogLevel string
}

// Argo is a running Argo CD.
type Argo struct {
	// Version is that of Argo CD.
	Version string
	// Logs is the folder of the logs.
	Logs string
	// Processes are the identifiers of its processes by name.
	Processes map[string]int
	// ReadyAfter is how long it took until everything was ready.
	ReadyAfter time.Duration

	command *exec.Cmd
	stdin   io.Closer
	done    chan struct{}
	// ended is why it ended by itself; read it after done.
	ended error
}

// message is a line of what the binary tells.
type message struct {
	Ready     bool           `json:"ready"`
	ArgoCD    string         `json:"argocd"`
	Logs      string         `json:"logs"`
	Processes map[string]int `json:"processes"`
	Error     string         `json:"error"`
}

// StartError says that Argo CD did not start.
type StartError struct{ Err error }

// Error implements error.
func (e *StartError) Error() string { return "start Argo CD: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// EndedError says that Argo CD ended by itself.
type EndedError struct {
	// Reason is what the binary said last; empty for one that was killed.
	Reason string
}

// Error implements error.
func (e *EndedError) Error() string {
	if e.Reason == "" {
		return "Argo CD ended by itself: it was killed, or the machine had no memory left for it"
	}
	return "Argo CD ended by itself: " + e.Reason
}

// Start starts Argo CD and returns when its controllers are ready. What Install
// makes must be there. It runs until Stop or the end of this process; ctx bounds
// the start only.
func Start(ctx context.Context, o Options) (*Argo, error) {
	started := time.Now()
	a, stdout, err := spawn(o)
	if err != nil {
		return nil, &StartError{Err: err}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("not ready after %s", startPatience))
	defer cancel()
	ready := make(chan message, 1)
	go a.hear(stdout, ready)
	select {
	case m := <-ready:
		a.Version, a.Logs, a.Processes = m.ArgoCD, m.Logs, m.Processes
		a.ReadyAfter = time.Since(started)
		return a, nil
	case <-a.done:
		return nil, &StartError{Err: a.ended}
	case <-ctx.Done():
		a.Stop()
		return nil, &StartError{Err: context.Cause(ctx)}
	}
}

func spawn(o Options) (*Argo, io.Reader, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make its folder: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(o.Dir, runLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open its log: %w", err)
	}
	defer log.Close() //nolint:errcheck // the child has its own copy
	command := exec.Command(o.Executable, o.arguments()...)
	// A session of its own keeps the terminal's signals away: the parent decides.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.Stderr = log
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, &MissingError{Named: o.Executable, Err: cause(err)}
	}
	return &Argo{command: command, stdin: stdin, done: make(chan struct{})}, stdout, nil
}

// arguments are the command line for the binary.
func (o Options) arguments() []string {
	args := []string{"run", "--kubeconfig", o.Kubeconfig, "--dir", o.Dir, "--wave-delay", o.WaveDelay.String()}
	for _, f := range []struct{ flag, value string }{{"--namespace", o.Namespace}, {"--log-level", o.LogLevel}, {"--confine", o.Confine}, {"--repositories", o.Repositories}} {
		if f.value != "" {
			args = append(args, f.flag, f.value)
		}
	}
	if o.Reconcile > 0 {
		args = append(args, "--reconcile", o.Reconcile.String())
	}
	if o.Offline {
		args = append(args, "--offline")
	}
	if o.ObjectHealth {
		args = append(args, "--object-health")
	}
	if o.ClientQPS > 0 {
		args = append(args, "--client-qps", strconv.Itoa(o.ClientQPS))
	}
	return args
}

// hear reads what the binary tells until it ends.
func (a *Argo) hear(stdout io.Reader, ready chan<- message) {
	reason := ""
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		var m message
		switch err := json.Unmarshal(lines.Bytes(), &m); {
		case err != nil: // not for us
		case m.Ready:
			ready <- m
		case m.Error != "":
			reason = m.Error
		}
	}
	// Wait closes the pipe, so it must not come before the reading.
	_ = a.command.Wait()
	a.ended = &EndedError{Reason: reason}
	close(a.done)
}

// PID is the process that runs the others.
func (a *Argo) PID() int { return a.command.Process.Pid }

// AwaitEnd waits until Argo CD has ended or ctx ends. It returns an *EndedError
// in the first case, nil in the other.
func (a *Argo) AwaitEnd(ctx context.Context) error {
	select {
	case <-a.done:
		return a.ended
	case <-ctx.Done():
		return nil
	}
}

// Stop ends Argo CD and waits until all of its processes have ended. Stopping one
// that has ended is fine.
func (a *Argo) Stop() {
	_ = a.stdin.Close() // which tells it to end
	select {
	case <-a.done:
	case <-time.After(stopPatience):
		// Its parts end when it does: they hold the other ends of its pipes.
		_ = a.command.Process.Kill()
		<-a.done
	}
}
