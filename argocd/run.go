package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// readyPatience is how long the parts may take until they are ready.
	readyPatience = 90 * time.Second
	logLines      = 10
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
	if err := confinable(o.confine, o.offline); err != nil {
		return errors.Join(err, tell(stdout, message{Error: err.Error()}))
	}
	syscall.Umask(0o077) // nothing that it makes is for other users
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		stop()
	}()
	a := &argo{options: o, args: args, ended: make(chan error, 1)}
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
	// args are those of the command run, which every part gets too.
	args  []string
	parts []*part
	// ended is told the first part that ended by itself.
	ended chan error
}

// part is a process that runs one part of Argo CD.
type part struct {
	name    string
	command *exec.Cmd
	stdin   io.WriteCloser
	// ready is closed when the part says that it is ready.
	ready chan struct{}
	done  chan struct{}
}

// start starts the parts and waits until all are ready.
func (a *argo) start(ctx context.Context) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the running program: %w", err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return errors.New("the repo server of Argo CD needs the command git, which is not on PATH")
	}
	if helm, err := helmProgram(); err != nil {
		return err
	} else if _, err := os.Stat(helm); err != nil {
		return fmt.Errorf("the repo server of Argo CD needs its helm beside ladder-argocd, where make argocd puts it: %w", err)
	}
	if err := makeFolders(a.options.dir, executable); err != nil {
		return err
	}
	for _, name := range []string{repoServer, applicationController, setController} {
		if err := a.spawn(executable, name); err != nil {
			return err
		}
	}
	return a.awaitReady(ctx)
}

// spawn starts one part, which leads a process group of its own, with a log file.
func (a *argo) spawn(executable, name string) error {
	log, err := os.OpenFile(a.log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer func() { _ = log.Close() }() // the part has its own copy
	ready, told, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("hear %s: %w", name, err)
	}
	defer func() { _ = told.Close() }() // likewise
	command := exec.Command(executable, append([]string{partCommand, name}, a.args...)...)
	command.Env = environment(a.options, name, os.Getenv)
	command.Stdout, command.Stderr, command.ExtraFiles = log, log, []*os.File{told}
	ownGroup(command)
	stdin, err := command.StdinPipe()
	if err != nil {
		return fmt.Errorf("reach %s: %w", name, err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	p := &part{name: name, command: command, stdin: stdin, ready: make(chan struct{}), done: make(chan struct{})}
	a.parts = append(a.parts, p)
	go func() {
		defer func() { _ = ready.Close() }()
		if n, _ := ready.Read(make([]byte, 1)); n > 0 {
			close(p.ready)
		}
	}()
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

// awaitReady waits until every part says that it is ready.
func (a *argo) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	for _, p := range a.parts {
		select {
		case <-p.ready:
		case err := <-a.ended:
			return err
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %s\n%s", p.name, readyPatience, lastLines(a.log(p.name), logLines))
		}
	}
	return nil
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
