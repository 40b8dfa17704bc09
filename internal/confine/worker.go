package confine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine/internal/instead"
)

// maxResident is how much memory a worker may hold, in bytes.
const maxResident = 896 << 20

// startTime is how long a worker may take to start.
const startTime = time.Minute

// collection sets the garbage collector of a worker: late, and hard at work before
// the limit of the kernel. A worker has no other environment.
func collection() []string { return []string{"GOGC=off", "GOMEMLIMIT=640MiB"} }

// errTogether says that a worker ended while it was at several calls, so that it is
// not known which of them it died of.
var errTogether = errors.New("a worker ended in the middle of several calls")

// worker is a child process.
type worker struct {
	command     *exec.Cmd
	in          io.WriteCloser
	out         io.ReadCloser
	frames      *bufio.Reader
	confinement Confinement
	said        *said
	board       board
	// ended is closed when the process has ended, lost when nothing more is read from it.
	ended, lost chan struct{}

	mu      sync.Mutex
	killed  bool
	last    uint32 // number of a call
	flights map[uint32]*flight
}

// flight is a call that a worker is at.
type flight struct {
	call Call
	// number is that of the call in frames.
	number uint32
	frames chan frame
	// together is set where the worker was at another call at the same time. worker.mu
	// guards it.
	together bool
}

// maxAhead is how many frames a worker may send before they are taken: a question, and
// the end of the call.
const maxAhead = 2

// errNotServing is of a program that would run itself, and so on without end.
var errNotServing = errors.New("start a worker: this program is none; a command links internal/worker, a test calls confinetest.Main")

// program is what is started as a worker: the program that runs, or another one in tests.
func program() (string, error) {
	switch {
	case instead.Program != nil:
		return instead.Program()
	case !serving:
		return "", errNotServing
	default:
		return executable()
	}
}

// spawn starts a process of a program that will be a worker.
func spawn(program string, mode Mode) (*worker, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	shared, file, err := newBoard()
	if err != nil {
		return nil, err
	}
	w := &worker{command: exec.Command(program, Command, string(mode)), out: read, board: shared, frames: bufio.NewReaderSize(read, 64<<10),
		said: &said{}, ended: make(chan struct{}), lost: make(chan struct{}), flights: map[uint32]*flight{}}
	runtime.AddCleanup(w, board.close, shared)
	w.command.Env = collection()
	w.command.Dir = "/"
	apart(w.command) // a key that interrupts this process is not for the worker
	w.command.ExtraFiles = []*os.File{write}
	if file != nil {
		defer func() { _ = file.Close() }() // the worker has its own
		w.command.ExtraFiles = append(w.command.ExtraFiles, file)
	}
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
	return w, nil
}

// greet waits until a process is a confined worker.
func (w *worker) greet() error {
	late := time.AfterFunc(startTime, w.kill)
	hello, err := readFrame(w.frames)
	if err == nil && hello.kind != helloFrame {
		err = errFrame
	}
	if err == nil {
		err = json.Unmarshal(hello.body, &w.confinement)
	}
	if !late.Stop() && err == nil {
		err = os.ErrDeadlineExceeded
	}
	if err != nil {
		w.kill()
		<-w.ended
		return fmt.Errorf("start a worker: %w (%s) %.4096s", err, w.command.ProcessState, w.said)
	}
	go w.read()
	return nil
}

// read hands frames to the calls that they belong to, until the worker is gone. It
// waits for nobody: a call may wait for another one of the same worker.
func (w *worker) read() {
	defer close(w.lost)
	for {
		f, err := readFrame(w.frames)
		if err != nil || !w.hand(f) {
			w.kill()
			return
		}
	}
}

// hand gives a frame to its call. It reports whether the worker keeps to the protocol.
func (w *worker) hand(f frame) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := w.flights[f.call]
	if to == nil {
		return true // the call has ended
	}
	select {
	case to.frames <- f:
		return true
	default:
		return false
	}
}

// next waits for a frame. ok is false where the worker is gone.
func (w *worker) next(f *flight) (got frame, ok bool) {
	select {
	case got = <-f.frames:
		return got, true
	case <-w.lost:
	}
	select {
	case got = <-f.frames: // it came before the end
		return got, true
	default:
		return frame{}, false
	}
}

func (w *worker) kill() {
	w.mu.Lock()
	w.killed = true
	w.mu.Unlock()
	_ = w.command.Process.Kill() // it may have ended already
	_ = w.in.Close()
	_ = w.out.Close()
}

// gone reports whether a worker ends or has ended.
func (w *worker) gone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.ended:
		return true
	default:
		return w.killed
	}
}

// take makes a worker begin with a call; nil where it is gone.
func (w *worker) take(call Call) *flight {
	if w.gone() {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.killed {
		return nil
	}
	w.last++
	taken := &flight{call: call, number: w.last, frames: make(chan frame, maxAhead), together: len(w.flights) > 0}
	for _, other := range w.flights {
		other.together = true
	}
	w.flights[taken.number] = taken
	return taken
}

// leave ends what take began.
func (w *worker) leave(f *flight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.flights, f.number)
}

func (w *worker) together(f *flight) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return f.together
}

// note is what the worker said last that it was at.
func (w *worker) note(f *flight) []byte { return w.board.read(f.number) }

// do makes a call that was taken. The error is errTogether where the worker ended and
// was at more than this.
func (w *worker) do(ctx context.Context, f *flight) ([]byte, error) {
	result, err := w.converse(ctx, f)
	var limit *LimitError
	if errors.As(err, &limit) && limit.Limit != Questions && limit.Limit != Output && w.together(f) {
		return nil, errTogether
	}
	return result, err
}

func (w *worker) converse(ctx context.Context, f *flight) ([]byte, error) {
	call := f.call
	if !w.together(f) {
		w.said.forget() // it is not about this call
	}
	watch := newWatch(w, f)
	stop := context.AfterFunc(ctx, w.kill)
	defer stop()
	defer watch.end()
	finish := func(result []byte, failed error) ([]byte, error) {
		over := watch.end()
		if !stop() { // it was killed, or is about to be
			w.kill()
			return nil, context.Cause(ctx)
		}
		if over == "" {
			return result, failed
		}
		return nil, &LimitError{Limit: over, Allowed: call.Time, Note: w.note(f)}
	}
	end := func(limit Limit, detail string) ([]byte, error) {
		w.kill()
		return nil, &LimitError{Limit: limit, Note: w.note(f), Detail: detail}
	}
	if err := (frame{callFrame, f.number, call.Method, call.Request}).write(w.in); err != nil {
		return nil, w.died(ctx, watch, f)
	}
	for asks := 0; ; {
		got, ok := w.next(f)
		if !ok {
			return nil, w.died(ctx, watch, f)
		}
		switch got.kind {
		case askFrame:
			if asks++; asks > maxAsks || call.Answer == nil {
				return end(Questions, "")
			}
			watch.pause()
			answer := frame{kind: answerFrame, call: f.number}
			data, err := call.Answer(ctx, got.name, got.body)
			if answer.body = data; err != nil {
				answer.kind, answer.body = refuseFrame, []byte(err.Error())
			}
			watch.resume()
			if err := answer.write(w.in); err != nil {
				return nil, w.died(ctx, watch, f)
			}
		case doneFrame:
			if len(got.body) > maxResult {
				return end(Output, "")
			}
			return finish(got.body, nil)
		case failFrame:
			if string(got.body) == errOutput {
				return finish(nil, &LimitError{Limit: Output, Note: w.note(f)})
			}
			return finish(nil, &MethodError{text(got.body)})
		default:
			return end(Crash, errFrame.Error())
		}
	}
}

// died says why a worker ended in the middle of a call.
func (w *worker) died(ctx context.Context, watch *watch, f *flight) error {
	over := watch.end()
	w.kill()
	<-w.ended
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	failure := &LimitError{Limit: over, Allowed: f.call.Time, Note: w.note(f), Detail: w.command.ProcessState.String()}
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
	return failure
}
