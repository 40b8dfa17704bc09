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

// IsWorker reports whether the process was started as a worker.
func IsWorker(args []string) bool { return len(args) == 3 && args[1] == Command }

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

// Serve confines the process for good and answers calls until standard input ends,
// then ends the process. prepare runs before the confinement with what methods will
// ask the parent by; it loads what methods read from files.
func Serve(args []string, prepare func(*Parent), methods map[string]Method) {
	debug.SetGCPercent(collectAt)
	debug.SetMaxStack(maxStack)
	debug.SetTraceback("none")
	out := os.NewFile(output, "parent")
	if out == nil {
		fmt.Fprintln(os.Stderr, "ladder: "+Command+" is started by ladder itself")
		os.Exit(2) //nolint:forbidigo // a worker never reaches main
	}
	parent := &Parent{out: out, answers: make(chan frame)}
	prepare(parent)
	hello, err := json.Marshal(restrict(Mode(args[2])))
	if err != nil || parent.send(frame{helloFrame, "", hello}) != nil {
		os.Exit(3) //nolint:forbidigo // as above
	}
	calls := make(chan frame)
	go parent.listen(os.Stdin, calls)
	for call := range calls {
		parent.send(run(parent, methods, call)) //nolint:errcheck // without a parent, listen ends the process
	}
}

func run(parent *Parent, methods map[string]Method, call frame) (reply frame) {
	defer func() {
		if r := recover(); r != nil {
			reply = frame{failFrame, "", []byte(fmt.Sprintf("panic: %v", r))}
		}
	}()
	method, ok := methods[call.name]
	if !ok {
		return frame{failFrame, "", []byte("there is no method " + call.name)}
	}
	result, err := method(context.Background(), call.body, parent)
	if err != nil {
		return frame{failFrame, "", []byte(err.Error())}
	}
	if len(result) > maxResult {
		return frame{failFrame, "", []byte(errOutput)}
	}
	return frame{doneFrame, "", result}
}

// errOutput is the failure of a method whose result does not fit in a frame.
const errOutput = "the result is too large"

// Parent is the process that started the worker, as its methods see it. It is safe
// for concurrent use.
type Parent struct {
	mu      sync.Mutex // of one write
	out     io.Writer
	asking  sync.Mutex // of one question and its answer
	answers chan frame
}

func (p *Parent) send(f frame) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f.write(p.out)
}

// listen hands on what the parent sends. It ends the process when the parent is
// gone, whatever a method is at.
func (p *Parent) listen(in io.Reader, calls chan<- frame) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	for {
		f, err := readFrame(buffered)
		if err != nil {
			os.Exit(0) //nolint:forbidigo // as above
		}
		if f.kind == callFrame {
			calls <- f
		} else {
			p.answers <- f
		}
	}
}

// Ask asks the parent for something in the middle of a call.
func (p *Parent) Ask(operation string, request []byte) ([]byte, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if err := p.send(frame{askFrame, operation, request}); err != nil {
		return nil, err
	}
	f := <-p.answers
	if f.kind == refuseFrame {
		return nil, errors.New(text(f.body))
	}
	return f.body, nil
}

// Note says what is worked on, so that the parent can name it where the worker dies.
func (p *Parent) Note(what []byte) {
	_ = p.send(frame{noteFrame, "", what}) // without a parent, listen ends the process
}
