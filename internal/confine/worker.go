package confine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxResident is how much memory a worker may hold, in bytes.
const maxResident = 896 << 20

// watchEvery is how often the parent looks at a worker that computes.
const watchEvery = 20 * time.Millisecond

// startTime is how long a worker may take to start.
const startTime = time.Minute

// collection sets the garbage collector of a worker: late, and hard at work before
// the limit of the kernel. A worker has no other environment.
func collection() []string { return []string{"GOGC=off", "GOMEMLIMIT=640MiB"} }

// worker is a child process. It is for one call at a time.
type worker struct {
	command     *exec.Cmd
	in          io.WriteCloser
	out         io.ReadCloser
	frames      *bufio.Reader
	confinement Confinement
	said        *said
	// ended is closed when the process has ended.
	ended chan struct{}
}

// start starts a worker and waits until it is confined.
func start(ctx context.Context, mode Mode) (*worker, error) {
	self, err := executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	w := &worker{command: exec.Command(self, Command, string(mode)), out: read, frames: bufio.NewReaderSize(read, 64<<10),
		said: &said{}, ended: make(chan struct{})}
	w.command.Env = collection()
	w.command.Dir = "/"
	apart(w.command) // a key that interrupts this process is not for the worker
	w.command.ExtraFiles = []*os.File{write}
	w.command.Stdout, w.command.Stderr = w.said, w.said
	if w.in, err = w.command.StdinPipe(); err == nil {
		err = w.command.Start()
	}
	_ = write.Close() // the worker has its own
	if err != nil {
		_ = read.Close()
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	go func() {
		_ = w.command.Wait() // its state says how it ended
		close(w.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	stop := context.AfterFunc(ctx, w.kill)
	hello, err := readFrame(w.frames)
	if err == nil && hello.kind != helloFrame {
		err = errFrame
	}
	if err == nil {
		err = json.Unmarshal(hello.body, &w.confinement)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		w.kill()
		<-w.ended
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("start a worker: %w (%s) %.4096s", err, w.command.ProcessState, w.said)
	}
	return w, nil
}

func (w *worker) kill() {
	_ = w.command.Process.Kill() // it may have ended already
	_ = w.in.Close()
	_ = w.out.Close()
}

// do makes a call. alive is false where the worker is not to be used again.
func (w *worker) do(ctx context.Context, call Call) (result []byte, alive bool, err error) {
	w.said.forget() // it is not about this call
	watch := newWatch(w, call.Time)
	stop := context.AfterFunc(ctx, w.kill)
	defer stop()
	defer watch.end()
	var note []byte
	finish := func(result []byte, failed error) ([]byte, bool, error) {
		over := watch.end()
		if !stop() { // it was killed, or is about to be
			w.kill()
			return nil, false, context.Cause(ctx)
		}
		if over == "" {
			return result, true, failed
		}
		return nil, false, &LimitError{Limit: over, Allowed: call.Time, Note: note}
	}
	if err := (frame{callFrame, call.Method, call.Request}).write(w.in); err != nil {
		return w.died(ctx, watch, call, note)
	}
	for asks := 0; ; {
		f, err := readFrame(w.frames)
		if err != nil {
			return w.died(ctx, watch, call, note)
		}
		switch f.kind {
		case noteFrame:
			note = f.body[:min(len(f.body), maxNote)]
		case askFrame:
			if asks++; asks > maxAsks || call.Answer == nil {
				w.kill()
				return nil, false, &LimitError{Limit: Questions, Note: note}
			}
			watch.pause()
			answer := frame{answerFrame, "", nil}
			data, err := call.Answer(ctx, f.name, f.body)
			if answer.body = data; err != nil {
				answer = frame{refuseFrame, "", []byte(err.Error())}
			}
			watch.resume()
			if err := answer.write(w.in); err != nil {
				return w.died(ctx, watch, call, note)
			}
		case doneFrame:
			if len(f.body) > maxResult {
				w.kill()
				return nil, false, &LimitError{Limit: Output, Note: note}
			}
			return finish(f.body, nil)
		case failFrame:
			if string(f.body) == errOutput {
				return finish(nil, &LimitError{Limit: Output, Note: note})
			}
			return finish(nil, &MethodError{text(f.body)})
		default:
			w.kill()
			return nil, false, &LimitError{Limit: Crash, Note: note, Detail: errFrame.Error()}
		}
	}
}

// died says why a worker ended in the middle of a call.
func (w *worker) died(ctx context.Context, watch *watch, call Call, note []byte) ([]byte, bool, error) {
	over := watch.end()
	w.kill()
	<-w.ended
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	failure := &LimitError{Limit: over, Allowed: call.Time, Note: note, Detail: w.command.ProcessState.String()}
	text := w.said.String()
	switch {
	case over != "":
	case strings.Contains(text, "stack exceeds"):
		failure.Limit = Stack
	case outOfMemory(text), peak(w.command.ProcessState) > maxResident*3/4:
		failure.Limit = Memory // the runtime also ends for want of memory where it starts a thread
	default:
		failure.Limit = Crash
	}
	return nil, false, failure
}

// outOfMemory recognises what the Go runtime says, and that of the race detector, when
// there is no more memory. The garbage collector of Go 1.26 does not look whether it
// got memory for its queue of spans: it reads address 0 then.
func outOfMemory(text string) bool {
	if strings.HasPrefix(text, "SIGSEGV") && strings.Contains(text, "addr=0x0\n") && strings.Contains(text, "runtime.(*spanQueue)") {
		return true
	}
	return slices.ContainsFunc([]string{"out of memory", "allocate memory", "cannot map pages", "failed to allocate", "cannot reserve", "failed to reserve", "new OS thread", "newosproc", "pthread_create failed", "errno=12"},
		func(words string) bool { return strings.Contains(text, words) })
}

// watch looks at a worker while it computes and kills it when it takes too much.
type watch struct {
	worker  *worker
	allowed time.Duration

	mu     sync.Mutex
	over   Limit
	paused bool
	spent  time.Duration // by the clock, without the answers
	since  time.Time
	before time.Duration // CPU time at the start of the call; negative is unknown
	timer  *time.Timer
	ended  bool
}

func newWatch(w *worker, allowed time.Duration) *watch {
	t := &watch{worker: w, allowed: allowed, since: time.Now(), before: -1}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(watchEvery, t.look)
	return t
}

func (t *watch) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	spent := t.spent
	if !t.paused {
		spent += time.Since(t.since)
	}
	cpu, resident, ok := usage(t.worker.command.Process.Pid)
	if ok && t.before < 0 {
		t.before = max(0, cpu-spent)
	}
	switch {
	case ok && resident > maxResident:
		t.over = Memory
	case t.allowed > 0 && (ok && cpu-t.before > t.allowed || spent > patience*t.allowed):
		t.over = Time
	}
	if t.over != "" {
		t.worker.kill()
		return
	}
	t.timer.Reset(watchEvery)
}

func (t *watch) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent += time.Since(t.since)
	t.paused = true
}

func (t *watch) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since, t.paused = time.Now(), false
}

// end stops watching and returns the limit that the worker was killed for.
func (t *watch) end() Limit {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.timer.Stop()
	return t.over
}

// said keeps the end of what a worker prints during a call: there the Go runtime says
// why it ends, and shows a hundred calls of a stack at most. It is safe for concurrent
// use.
type said struct {
	mu   sync.Mutex
	text []byte
}

const maxSaid = 64 << 10 // bytes

// Write implements io.Writer.
func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p[max(0, len(p)-maxSaid):]...)
	s.text = slices.Delete(s.text, 0, max(0, len(s.text)-maxSaid))
	return len(p), nil
}

// forget drops what was kept.
func (s *said) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = s.text[:0]
}

// String returns what was kept.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}
