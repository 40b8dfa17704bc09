package plane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/plane/child"
)

const (
	// stopGrace is how long a plane may take to end in order.
	stopGrace = 10 * time.Second
	// lastLogBytes and lastLogLines bound what an error shows of the log.
	lastLogBytes = 8 << 10
	lastLogLines = 15
	// lastWordsBytes bounds where last words are looked for: a plane that ends goes on
	// writing of its components until it has.
	lastWordsBytes = 1 << 20
)

// ErrNone is why a program that was built with the tag noplane starts no plane.
var ErrNone = errors.New("this build of ladder holds no control plane (it was made with -tags noplane): use the full build, go build ./cmd/ladder")

// StartError is a plane that did not become ready.
type StartError struct {
	// Reason is what the plane, or the wait for it, said last.
	Reason error
	// Log are the last lines of the plane's log, if it wrote any.
	Log []string
}

// Error implements error.
func (e *StartError) Error() string {
	message := "the plane did not start: " + e.Reason.Error()
	if len(e.Log) > 0 {
		message += "\nlast lines of its log:\n  " + strings.Join(e.Log, "\n  ")
	}
	return message
}

// Unwrap is the reason.
func (e *StartError) Unwrap() error { return e.Reason }

// Start starts a plane and returns when it is ready: the API server says so, the
// nodes exist, the simulated world runs. The plane lives until Stop or the end of
// this process; ctx bounds the start only.
func Start(ctx context.Context, o Options) (*Plane, error) {
	started := time.Now()
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if o.Dir == "" {
		if o.Dir, err = throwawayFolder(started); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the plane's folder: %w", err)
	}
	p := &Plane{Name: o.Name, Dir: o.Dir, Started: started}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("not ready after %s", o.Timeout))
	defer cancel()
	stdout, err := p.spawn(ctx, o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(o.Dir))
	}
	message, err := p.await(ctx, stdout)
	if err != nil {
		failure := &StartError{Reason: err, Log: lastLines(filepath.Join(o.Dir, child.LogFile))}
		p.kill()
		return nil, errors.Join(failure, os.RemoveAll(o.Dir))
	}
	p.Kubeconfig, p.Server = message.Kubeconfig, message.Server
	p.ReadyAfter = time.Since(started)
	return p, nil
}

func (o Options) complete() (Options, error) {
	if o.Name == "" {
		o.Name = defaultName
	}
	if o.Nodes == 0 {
		o.Nodes = child.DefaultNodes
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	var err error
	if o.Executable == "" {
		if !Built {
			return Options{}, ErrNone
		}
		if o.Executable, err = os.Executable(); err != nil {
			return Options{}, fmt.Errorf("find the running program: %w", err)
		}
	}
	if o.Dir != "" {
		if o.Dir, err = filepath.Abs(o.Dir); err != nil {
			return Options{}, fmt.Errorf("find the plane's folder: %w", err)
		}
	}
	return o, nil
}

// spawn starts the plane's process and returns its standard output.
func (p *Plane) spawn(ctx context.Context, o Options) (io.ReadCloser, error) {
	lock, err := acquire(ctx, filepath.Join(o.Dir, child.LockFile))
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(o.Dir, child.LogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the plane's log: %w", err), lock.Close())
	}
	defer log.Close() //nolint:errcheck // the child has its own copy
	arguments := child.Options{Dir: o.Dir, Name: o.Name, Port: o.Port, Nodes: o.Nodes, Memory: o.Memory, Confine: string(evaluate.Workers.Mode()), Remove: true, Verbose: o.Log != nil, World: o.World}.Arguments()
	command := exec.Command(o.Executable, append([]string{"plane", "run"}, arguments...)...)
	// A session of its own keeps the terminal's signals away: the parent decides.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.ExtraFiles = []*os.File{lock}
	command.Stderr = log
	if o.Log != nil {
		command.Stderr = o.Log
	}
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reach the plane: %w", err), lock.Close())
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reach the plane: %w", err), lock.Close())
	}
	if err := command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", o.Executable, err), lock.Close())
	}
	p.PID = command.Process.Pid
	p.process = &process{command: command, stdin: stdin, lock: lock, done: make(chan struct{})}
	return stdout, nil
}

// await hears the plane's message and from then on waits for its end in the
// background.
func (p *Plane) await(ctx context.Context, stdout io.Reader) (child.Message, error) {
	type heard struct {
		message child.Message
		err     error
	}
	hear := make(chan heard, 1)
	go func() {
		m, err := child.ReadMessage(stdout)
		hear <- heard{m, err}
		// Wait closes the pipe, so it must not come before the reading.
		_ = p.process.command.Wait()
		close(p.process.done)
	}()
	select {
	case h := <-hear:
		return h.message, h.err
	case <-ctx.Done():
		return child.Message{}, context.Cause(ctx)
	}
}

// kill ends the plane's process at once and waits for its end.
func (p *Plane) kill() {
	_ = p.process.command.Process.Kill()
	<-p.process.done
	_ = p.process.lock.Close()
}

// lastLines are the last lines of the log at path.
func lastLines(path string) []string {
	lines := tail(path, lastLogBytes)
	return lines[max(0, len(lines)-lastLogLines):]
}

// tail reads the lines of the last bytes of a file; none where it cannot be read.
func tail(path string, bytes int64) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // opened for reading
	if info, err := file.Stat(); err == nil && info.Size() > bytes {
		_, _ = file.Seek(-bytes, io.SeekEnd)
	}
	content, err := io.ReadAll(io.LimitReader(file, bytes))
	if err != nil || len(content) == 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(string(content), "\n"), "\n")
}
