package confine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test binary a worker where it is started as one.
func TestMain(m *testing.M) {
	Serve(os.Args, func() {}, methods())
	os.Exit(m.Run())
}

// A program that is no worker does not start itself: it would, and so on without end.
func TestAProgramThatIsNoWorker(t *testing.T) {
	serving = false
	t.Cleanup(func() { serving = true })
	var pool Pool
	if _, err := pool.Do(t.Context(), Call{Method: "echo"}); !errors.Is(err, errNotServing) {
		t.Errorf("error = %v", err)
	}
}

var spun int

func methods() map[string]Method {
	var kept [][]byte
	var all map[string]Method
	all = map[string]Method{
		// Then asks, and goes on as the method that it names.
		"then": func(ctx context.Context, request []byte, p *Parent) ([]byte, error) {
			if _, err := p.Ask("what", request); err != nil {
				return nil, err
			}
			return all[string(request)](ctx, nil, p)
		},
		"echo": func(_ context.Context, request []byte, _ *Parent) ([]byte, error) { return request, nil },
		"fail": func(context.Context, []byte, *Parent) ([]byte, error) { return nil, errors.New("no") },
		"panic": func(context.Context, []byte, *Parent) ([]byte, error) {
			panic("boom")
		},
		"pid": func(context.Context, []byte, *Parent) ([]byte, error) { return []byte(fmt.Sprint(os.Getpid())), nil },
		"environment": func(context.Context, []byte, *Parent) ([]byte, error) {
			return []byte(strings.Join(os.Environ(), "\n")), nil
		},
		"run": func(context.Context, []byte, *Parent) ([]byte, error) { return exec.Command("/bin/true").Output() },
		"fork": func(context.Context, []byte, *Parent) ([]byte, error) {
			_, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
			return nil, errno
		},
		"vfork": func(context.Context, []byte, *Parent) ([]byte, error) {
			// Refused, or it would be a process that shares the memory of this one.
			_, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD|syscall.CLONE_VM|syscall.CLONE_VFORK), 0, 0, 0, 0, 0)
			return nil, errno
		},
		"signal": func(context.Context, []byte, *Parent) ([]byte, error) {
			_, _, errno := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getppid()), uintptr(os.Getppid()), 0)
			return nil, errno
		},
		"open": func(_ context.Context, name []byte, _ *Parent) ([]byte, error) { return os.ReadFile(string(name)) },
		"create": func(_ context.Context, name []byte, _ *Parent) ([]byte, error) {
			return nil, os.WriteFile(string(name), nil, 0o600)
		},
		"remove": func(_ context.Context, name []byte, _ *Parent) ([]byte, error) { return nil, os.Remove(string(name)) },
		"dial": func(_ context.Context, address []byte, _ *Parent) ([]byte, error) {
			network, where, _ := strings.Cut(string(address), " ")
			_, err := net.Dial(network, where)
			return nil, err
		},
		"listen": func(context.Context, []byte, *Parent) ([]byte, error) {
			_, err := net.Listen("tcp", "127.0.0.1:0")
			return nil, err
		},
		"kill": func(context.Context, []byte, *Parent) ([]byte, error) { return nil, syscall.Kill(os.Getppid(), 0) },
		"threads": func(context.Context, []byte, *Parent) ([]byte, error) {
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() { runtime.LockOSThread() }) // each ends its thread
			}
			group.Wait()
			return nil, nil
		},
		"memory": func(context.Context, []byte, *Parent) ([]byte, error) {
			for {
				kept = append(kept, bytes.Repeat([]byte{1}, 16<<20))
			}
		},
		"stack": func(context.Context, []byte, *Parent) ([]byte, error) { return []byte(fmt.Sprint(deeper(0))), nil },
		"spin": func(_ context.Context, _ []byte, p *Parent) ([]byte, error) {
			p.Note([]byte("a loop"))
			for n := 0; ; n++ {
				spun = n
			}
		},
		"wait":  func(context.Context, []byte, *Parent) ([]byte, error) { select {} },
		"large": func(context.Context, []byte, *Parent) ([]byte, error) { return make([]byte, maxResult+1), nil },
		"ask": func(_ context.Context, request []byte, p *Parent) ([]byte, error) {
			return p.Ask("what", request)
		},
		"pester": func(_ context.Context, _ []byte, p *Parent) ([]byte, error) {
			for {
				if _, err := p.Ask("what", nil); err != nil {
					return nil, err
				}
			}
		},
		"garble": func(context.Context, []byte, *Parent) ([]byte, error) {
			_, err := os.NewFile(output, "").Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
			return nil, err
		},
		"print": func(context.Context, []byte, *Parent) ([]byte, error) {
			fmt.Println(strings.Repeat("x", 1<<20))
			fmt.Fprintln(os.Stderr, strings.Repeat("y", 1<<20))
			return []byte("printed"), nil
		},
		"exit": func(context.Context, []byte, *Parent) ([]byte, error) { os.Exit(7); return nil, nil },
	}
	return all
}

// endless keeps the compiler and the reader of code from seeing that it is.
var endless = func(int) bool { return true }

func deeper(n int) int {
	if !endless(n) {
		return n
	}
	return deeper(n+1) + len(fmt.Sprint(n))
}

func do(t *testing.T, p *Pool, method, request string) (string, error) {
	t.Helper()
	data, err := p.Do(t.Context(), Call{Method: method, Request: []byte(request), Time: 20 * time.Second})
	return string(data), err
}

func TestAnswers(t *testing.T) {
	t.Setenv("SECRET", "hunter2")
	p := &Pool{}
	for _, tc := range []struct{ method, request, want string }{
		{"echo", "hello", "hello"},
		{"echo", "", ""},
		{"echo", strings.Repeat("x", 9<<20), strings.Repeat("x", 9<<20)},
		{"environment", "", strings.Join(collection(), "\n")},
		{"print", "", "printed"},
		{"threads", "", ""},
	} {
		if got, err := do(t, p, tc.method, tc.request); err != nil || got != tc.want {
			t.Errorf("%s: %d bytes, %v", tc.method, len(got), err)
		}
	}
	for method, want := range map[string]string{"fail": "no", "panic": "panic: boom", "nothing": "there is no method nothing"} {
		var failed *MethodError
		if _, err := do(t, p, method, ""); !errors.As(err, &failed) || failed.Text != want {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// TestConfined tries what a worker may not do. The parent can do all of it.
func TestConfined(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the kernel confines on Linux only")
	}
	p := &Pool{}
	held, err := p.Confinement(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("in force: %s", held)
	if !held.Seccomp {
		t.Skip("this kernel has no seccomp")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			if conn, err := listener.Accept(); err == nil {
				t.Error("somebody connected")
				_ = conn.Close()
			} else {
				return
			}
		}
	}()
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ method, request string }{
		{"run", ""}, {"fork", ""}, {"vfork", ""}, {"signal", ""}, {"open", "/etc/passwd"}, {"open", "/proc/self/environ"}, {"open", file},
		{"create", file + "2"}, {"remove", file}, {"dial", "tcp " + listener.Addr().String()},
		{"dial", "udp 127.0.0.1:53"}, {"dial", "unix /run/docker.sock"}, {"listen", ""}, {"kill", ""},
	} {
		got, err := do(t, p, tc.method, tc.request)
		var failed *MethodError
		if !errors.As(err, &failed) || !strings.Contains(failed.Text, "operation not permitted") {
			t.Errorf("%s %s: %q, %v", tc.method, tc.request, got, err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// raceDetector is set where the race detector is linked. It keeps a shadow of the stack, and
// of one that is as deep as may be that takes all the memory that a worker may have, so that
// either limit may end the worker first.
var raceDetector bool

func TestLimits(t *testing.T) {
	p := &Pool{}
	for _, tc := range []struct {
		method string
		time   time.Duration
		limit  Limit
	}{
		{"memory", time.Minute, Memory},
		{"stack", time.Minute, Stack},
		{"spin", 50 * time.Millisecond, Time},
		{"wait", 10 * time.Millisecond, Time},
		{"large", time.Minute, Output},
		{"garble", time.Minute, Crash},
		{"exit", time.Minute, Crash},
	} {
		if tc.limit == Memory && testing.Short() || tc.limit == Stack && raceDetector {
			continue // it fills the memory
		}
		if _, err := do(t, p, "print", ""); err != nil {
			t.Error(err)
		}
		_, err := p.Do(t.Context(), Call{Method: tc.method, Time: tc.time})
		var limit *LimitError
		if !errors.As(err, &limit) || limit.Limit != tc.limit {
			t.Errorf("%s: %v (%#v)", tc.method, err, limit)
			continue
		}
		if tc.method == "spin" && string(limit.Note) != "a loop" {
			t.Errorf("the note is %q", limit.Note)
		}
		if got, err := do(t, p, "echo", "still here"); err != nil || got != "still here" {
			t.Errorf("after %s: %q, %v", tc.method, got, err)
		}
	}
}

func TestCancelledCallEnds(t *testing.T) {
	p := &Pool{}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	// The worker asks, so it is in the middle of the call.
	_, err := p.Do(ctx, Call{Method: "pester", Time: time.Hour, Answer: func(context.Context, string, []byte) ([]byte, error) {
		cancel(why)
		return nil, nil
	}})
	if !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	if _, err := p.Do(ctx, Call{Method: "echo", Time: time.Hour}); !errors.Is(err, why) {
		t.Errorf("a call that is not to begin: %v", err)
	}
}

func TestAsk(t *testing.T) {
	p := &Pool{}
	answer := func(_ context.Context, operation string, request []byte) ([]byte, error) {
		if len(request) == 0 {
			return nil, errors.New("ask for something")
		}
		return append([]byte(operation+" "), request...), nil
	}
	data, err := p.Do(t.Context(), Call{Method: "ask", Request: []byte("this"), Answer: answer, Time: time.Minute})
	if err != nil || string(data) != "what this" {
		t.Errorf("%q, %v", data, err)
	}
	var failed *MethodError
	if _, err := p.Do(t.Context(), Call{Method: "ask", Answer: answer, Time: time.Minute}); !errors.As(err, &failed) || failed.Text != "ask for something" {
		t.Errorf("a refused question: %v", err)
	}
	if testing.Short() {
		return // it asks as often as a worker may
	}
	endless := func(context.Context, string, []byte) ([]byte, error) { return nil, nil }
	var limit *LimitError
	if _, err := p.Do(t.Context(), Call{Method: "pester", Answer: endless, Time: time.Hour}); !errors.As(err, &limit) || limit.Limit != Questions {
		t.Errorf("endless questions: %v", err)
	}
}

// TestNested makes calls from answers, more than the pool has workers.
func TestNested(t *testing.T) {
	p := &Pool{}
	var group sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		group.Go(func() {
			_, err := p.Do(t.Context(), Call{Method: "ask", Time: time.Minute, Answer: func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
				return p.Do(ctx, Call{Method: "echo", Request: []byte("inner"), Time: time.Minute})
			}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// TestWarm: a worker that was started ahead is used, and ends.
func TestWarm(t *testing.T) {
	p := &Pool{}
	Ahead()
	process := ahead.worker.command.Process.Pid
	p.Warm()
	p.Warm()
	for range 3 {
		if got, err := do(t, p, "pid", ""); err != nil || got != fmt.Sprint(process) {
			t.Errorf("%q, %v", got, err)
		}
	}
	w := p.members[0].worker
	p.Close()
	select {
	case <-w.ended:
	default:
		t.Error("a worker lives on")
	}
	if len(p.members) > 0 {
		t.Errorf("%d members", len(p.members))
	}
}

// TestAheadOfAnotherMode: what was started ahead is not used where another confinement
// is wanted, and ends.
func TestAheadOfAnotherMode(t *testing.T) {
	Ahead()
	w := ahead.worker
	p := &Pool{}
	p.Configure(Off, nil)
	defer p.Close()
	if got, err := do(t, p, "pid", ""); err != nil || got == fmt.Sprint(w.command.Process.Pid) {
		t.Errorf("%q, %v", got, err)
	}
	<-w.ended
}

// meeting makes calls answer only when all of them have asked, so that they are made
// at the same time.
func meeting(n int) func(context.Context, string, []byte) ([]byte, error) {
	var here sync.WaitGroup
	here.Add(n)
	var again sync.Map // calls that are made again do not wait
	return func(_ context.Context, _ string, request []byte) ([]byte, error) {
		if _, met := again.LoadOrStore(string(request), true); !met && len(request) > 0 {
			here.Done()
			here.Wait()
		}
		return request, nil
	}
}

// TestTogether makes calls at the same time: those that may share a worker do.
func TestTogether(t *testing.T) {
	for _, tc := range []struct {
		name     string
		together []bool
		workers  int
	}{
		{"all may", []bool{true, true, true}, 1},
		{"one may not", []bool{true, false, true}, 1},
		{"two may not", []bool{false, true, false}, 2},
	} {
		p := &Pool{slots: make(chan struct{}, len(tc.together))}
		p.once.Do(func() {}) // the slots are there
		answer := meeting(len(tc.together))
		var group sync.WaitGroup
		for i, together := range tc.together {
			group.Go(func() {
				request := fmt.Sprint(i)
				got, err := p.Do(t.Context(), Call{Method: "ask", Request: []byte(request), Together: together, Time: time.Minute, Answer: answer})
				if err != nil || string(got) != request {
					t.Errorf("%s: call %d: %q, %v", tc.name, i, got, err)
				}
			})
		}
		group.Wait()
		if len(p.members) != tc.workers {
			t.Errorf("%s: %d workers", tc.name, len(p.members))
		}
		p.Close()
	}
}

// TestEndTogether: a call that ends its worker is the end of no other call, and is told
// as when it is alone.
func TestEndTogether(t *testing.T) {
	for method, want := range map[string]Limit{"memory": Memory, "stack": Stack, "spin": Time, "garble": Crash, "exit": Crash, "pester": Questions} {
		if (want == Memory || want == Questions) && testing.Short() || want == Stack && raceDetector {
			continue // they take as much as a worker may have
		}
		p := &Pool{slots: make(chan struct{}, 4)}
		p.once.Do(func() {})
		answer := meeting(4)
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				request := fmt.Sprint(i)
				call := Call{Method: "ask", Request: []byte(request), Together: true, Time: time.Minute, Answer: answer}
				if i == 0 {
					call.Method, call.Request = "then", []byte(method)
					if method == "spin" {
						call.Time = 50 * time.Millisecond
					}
				}
				got, err := p.Do(t.Context(), call)
				var limit *LimitError
				switch {
				case i == 0 && (!errors.As(err, &limit) || limit.Limit != want):
					t.Errorf("%s: %v", method, err)
				case i > 0 && (err != nil || string(got) != request):
					t.Errorf("beside %s: call %d: %q, %v", method, i, got, err)
				}
			})
		}
		group.Wait()
		p.Close()
	}
}

func TestRequired(t *testing.T) {
	p := &Pool{}
	p.Configure(Required, nil)
	held, err := (&Pool{}).Confinement(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = do(t, p, "echo", "x")
	var unconfined *UnconfinedError
	if held.Full() != (err == nil) || err != nil && !errors.As(err, &unconfined) {
		t.Errorf("held %s: %v", held, err)
	}
	p.Configure(Off, nil)
	off, err := p.Confinement(t.Context())
	if err != nil || off.Seccomp || off.Landlock > 0 {
		t.Errorf("off is %s, %v", off, err)
	}
}

// FuzzFrame reads frames of a worker that lies.
func FuzzFrame(f *testing.F) {
	for _, one := range []frame{{doneFrame, 1, "", []byte("x")}, {askFrame, 2, "read", []byte("name")}, {failFrame, 3, "", nil}} {
		var b bytes.Buffer
		if err := one.write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte{'D', 0, 0, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			one, err := readFrame(r)
			if err != nil {
				return
			}
			var b bytes.Buffer
			if err := one.write(&b); err != nil {
				t.Fatal(err)
			}
			again, err := readFrame(&b)
			if err != nil || again.kind != one.kind || again.call != one.call || again.name != one.name || !bytes.Equal(again.body, one.body) {
				t.Fatalf("%+v became %+v, %v", one, again, err)
			}
		}
	})
}

func BenchmarkCall(b *testing.B) {
	p := &Pool{}
	for b.Loop() {
		if _, err := p.Do(b.Context(), Call{Method: "echo", Request: []byte("x"), Time: time.Minute}); err != nil {
			b.Fatal(err)
		}
	}
}
