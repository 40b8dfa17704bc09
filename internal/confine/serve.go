package confine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

// Command is the hidden command with which a process starts itself as a worker.
// Its only argument is the Mode.
const Command = "confined-worker"

// serving is set where the program is a worker when it is started as one.
var serving bool

// Method computes something from a request.
type Method func(ctx context.Context, request []byte, parent *Parent) ([]byte, error)

// maxStack is how large the stack of a goroutine may grow in a worker, in bytes. A
// recursion without end dies before it takes all the memory.
const maxStack = 64 << 20

// collectAt is the GOGC of a worker once it is ready. What the packages of the program
// make at its start stays; to collect before that takes time and frees nothing.
const collectAt = 400

// output is the descriptor that a worker writes frames to. Standard output and
// standard error are left to libraries that print, and to the Go runtime.
const output = 3

// shared is the descriptor of its board.
const shared = 4

// Serve makes the program one that is its own worker. In a process that was started as
// one, it confines the process for good and answers calls until standard input ends, then
// ends the process. prepare runs before the confinement; it loads what methods read from
// files.
func Serve(args []string, prepare func(), methods map[string]Method) {
	if serving = true; len(args) != 3 || args[1] != Command {
		return
	}
	debug.SetGCPercent(collectAt)
	debug.SetMaxStack(maxStack)
	debug.SetTraceback("none")
	out := os.NewFile(output, "parent")
	if out == nil {
		fmt.Fprintln(os.Stderr, "ladder: "+Command+" is started by ladder itself")
		os.Exit(2) //nolint:forbidigo // a worker never reaches main
	}
	// A parent that has no board for it gave it none.
	notes, err := openBoard(os.NewFile(shared, "board"))
	if err != nil {
		notes = nil
	}
	prepare()
	hello, err := json.Marshal(restrict(Mode(args[2])))
	replies := &writer{out: out}
	if err != nil || replies.send(frame{kind: helloFrame, body: hello}) != nil {
		os.Exit(3) //nolint:forbidigo // as above
	}
	listen(os.Stdin, replies, notes, methods)
	os.Exit(0) //nolint:forbidigo // as above
}

// listen runs the methods that the parent calls and hands on its answers. It returns
// when the parent is gone, whatever methods are at.
func listen(in io.Reader, replies *writer, notes board, methods map[string]Method) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	var running sync.Map // from the number of a call to its *Parent
	for {
		f, err := readFrame(buffered)
		if err != nil {
			return
		}
		if f.kind != callFrame {
			if parent, ok := running.Load(f.call); ok {
				parent.(*Parent).answers <- f
			}
			continue
		}
		parent := &Parent{replies: replies, call: f.call, answers: make(chan frame, 1), board: notes}
		running.Store(f.call, parent)
		go func() {
			reply := run(parent, methods, f)
			running.Delete(f.call)
			replies.send(reply) //nolint:errcheck // without a parent, listen ends the process
		}()
	}
}

func run(parent *Parent, methods map[string]Method, call frame) (reply frame) {
	failed := func(text string) frame { return frame{kind: failFrame, call: call.call, body: []byte(text)} }
	defer func() {
		if r := recover(); r != nil {
			reply = failed(fmt.Sprintf("panic: %v", r))
		}
	}()
	method, ok := methods[call.name]
	if !ok {
		return failed("there is no method " + call.name)
	}
	result, err := method(context.Background(), call.body, parent)
	if err != nil {
		return failed(err.Error())
	}
	if len(result) > maxResult {
		return failed(errOutput)
	}
	return frame{kind: doneFrame, call: call.call, body: result}
}

// errOutput is the failure of a method whose result does not fit in a frame.
const errOutput = "the result is too large"

// writer sends frames. It is safe for concurrent use.
type writer struct {
	mu  sync.Mutex // of one write
	out io.Writer
}

func (w *writer) send(f frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return f.write(w.out)
}

// Parent is the process that started the worker, as one call sees it. It is safe for
// concurrent use.
type Parent struct {
	replies *writer
	call    uint32
	asking  sync.Mutex // of one question and its answer
	answers chan frame
	board   board
}

// Ask asks the parent for something in the middle of a call.
func (p *Parent) Ask(operation string, request []byte) ([]byte, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if err := p.replies.send(frame{askFrame, p.call, operation, request}); err != nil {
		return nil, err
	}
	f := <-p.answers
	if f.kind == refuseFrame {
		return nil, errors.New(text(f.body))
	}
	return f.body, nil
}

// Note says what is worked on, so that the parent can name it where the worker dies.
func (p *Parent) Note(what []byte) { p.board.write(p.call, what) }
