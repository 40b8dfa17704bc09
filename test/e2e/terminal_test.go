package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/plane"
)

// gatedPlatform stops at a component that waits for a Secret which nothing
// makes: the test opens that gate. The last step is started by hand.
const gatedPlatform = `
-- ladder.yaml --
layout: single
environments:
  dev: {}
steps:
  - phases: ["100"]
  - phases: ["200"]
  - phases: ["300"]
  - phases: ["400"]
    maxUpdate: 0
-- environments/dev/components/namespaces/component.yaml --
name: namespaces
namespace: app
rolloutPhase: "100"
manifests: {path: sources/namespaces.yaml}
-- sources/namespaces.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: app}
-- environments/dev/components/gate/component.yaml --
name: gate
namespace: app
rolloutPhase: "200"
manifests: {path: sources/gate.yaml}
-- sources/gate.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: gate}
spec:
  selector: {matchLabels: {app: gate}}
  template:
    metadata: {labels: {app: gate}}
    spec:
      containers:
        - {name: gate, image: example.com/gate:1, env: [{name: KEY, valueFrom: {secretKeyRef: {name: opens, key: key}}}]}
-- environments/dev/components/next/component.yaml --
name: next
namespace: app
rolloutPhase: "300"
manifests: {path: sources/next.yaml}
-- sources/next.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: next}
-- environments/dev/components/last/component.yaml --
name: last
namespace: app
rolloutPhase: "400"
manifests: {path: sources/last.yaml}
-- sources/last.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: last}
`

func writeGated(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(gatedPlatform)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// console is a command that a shell runs on a terminal of its own.
type console struct {
	t       *testing.T
	shell   *exec.Cmd
	pty     *os.File
	ended   chan struct{}
	restore func() (before, after string)

	mu     sync.Mutex
	output []byte
	seen   int // how much of the output earlier waits have used up
}

// onTerminal runs the command under a shell that compares the settings of the
// terminal before and after.
func onTerminal(t *testing.T, dir string, args ...string) *console {
	t.Helper()
	notes := t.TempDir()
	before, after := filepath.Join(notes, "before"), filepath.Join(notes, "after")
	const script = `before=$1; after=$2; shift 2; stty -g >"$before"; "$@"; code=$?; stty -g >"$after"; exit $code`
	c := &console{t: t, ended: make(chan struct{})}
	c.shell = exec.Command("sh", append([]string{"-c", script, "sh", before, after, ladderBinary(t)}, args...)...)
	c.shell.Dir = dir
	for _, v := range environment(t) {
		if name, _, _ := strings.Cut(v, "="); name != "CI" && name != "TERM" && name != "NO_COLOR" {
			c.shell.Env = append(c.shell.Env, v)
		}
	}
	c.shell.Env = append(c.shell.Env, "TERM=xterm-256color")
	var err error
	if c.pty, err = pty.StartWithSize(c.shell, &pty.Winsize{Rows: 40, Cols: 200}); err != nil {
		t.Fatal(err)
	}
	c.restore = func() (string, string) {
		a, _ := os.ReadFile(before)
		b, _ := os.ReadFile(after)
		return string(a), string(b)
	}
	go func() {
		defer close(c.ended)
		buffer := make([]byte, 4096)
		for {
			n, err := c.pty.Read(buffer)
			c.mu.Lock()
			c.output = append(c.output, buffer[:n]...)
			c.mu.Unlock()
			if err != nil {
				_ = c.shell.Wait() // its state tells
				return
			}
		}
	}()
	t.Cleanup(func() {
		for _, pid := range children(c.shell.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
		<-c.ended
		_ = c.pty.Close()
		if t.Failed() {
			shown := plainText(c.output)
			t.Logf("the end of what the terminal showed:\n%s", shown[max(0, len(shown)-3000):])
		}
	})
	return c
}

var controlCodes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

func plainText(output []byte) string {
	return strings.ReplaceAll(controlCodes.ReplaceAllString(string(output), ""), "\r", "")
}

// sees waits until the terminal shows a text after what it showed before.
func (c *console) sees(text string) {
	c.t.Helper()
	eventually(c.t, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		shown := plainText(c.output[c.seen:])
		if !strings.Contains(shown, text) {
			return fmt.Errorf("the terminal does not show %q", text)
		}
		return nil
	})
}

// presses types keys; later looks are at what the terminal shows from then on.
func (c *console) presses(keys string) {
	c.t.Helper()
	c.mu.Lock()
	c.seen = len(c.output)
	c.mu.Unlock()
	if _, err := c.pty.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

const ctrlC = "\x03"

// ends waits for the end, and fails unless the exit code is this one and the
// terminal is what it was.
func (c *console) ends(code int) string {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatal("the command does not end")
	}
	if got := c.shell.ProcessState.ExitCode(); got != code {
		c.t.Errorf("exit code %d, want %d", got, code)
	}
	if before, after := c.restore(); before == "" || before != after {
		c.t.Errorf("the terminal was %q and is %q", before, after)
	}
	return plainText(c.output)
}

// children are the processes that a process has started.
func children(pid int) []int {
	tasks, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	var found []int
	for _, file := range tasks {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

// ownPlanes gives the test planes of its own and returns their registry.
func ownPlanes(t *testing.T) *plane.Registry {
	t.Helper()
	return plane.NewRegistry(filepath.Join(ownHome(t), "ladder", "planes"))
}

// clusterOf is a client of a kept plane.
func clusterOf(t *testing.T, registry *plane.Registry, name string) *kubernetes.Clientset {
	t.Helper()
	p, err := registry.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return clientOf(t, p)
}

// openGate makes the Secret that the platform waits for.
func openGate(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "opens"}, StringData: map[string]string{"key": "x"}}
	if _, err := client.CoreV1().Secrets("app").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

const gateWaits = `secret "opens" not found`

func TestKeysSteerARehearsal(t *testing.T) {
	t.Parallel()
	registry := ownPlanes(t)
	c := onTerminal(t, writeGated(t), "rehearse", "--plane", "steered", "--speed", "100", "--least-timeout", "10m")
	c.sees(gateWaits)
	client := clusterOf(t, registry, "steered")

	// What it explains is how things stand, as long as it is shown.
	c.presses("e")
	c.sees("holds up 2: next, last")
	c.sees("gate  progressing: Deployment gate: 0 of 1 ready")
	c.presses("f")
	c.sees("nothing has failed")
	c.presses("a")
	c.sees("nothing waits for approval")

	// Ctrl-C asks and stops nothing.
	c.presses(ctrlC)
	c.sees("nothing has been stopped")
	c.presses("c")
	c.presses(ctrlC)
	c.sees("[d]etach")
	c.presses("p")
	c.sees("paused: nothing more starts")

	// The gate opens, yet what it holds up does not start.
	openGate(t, client)
	c.presses("e")
	c.sees("the rollout is paused\n    holds up 2: next, last")
	if _, err := client.CoreV1().ConfigMaps("app").Get(t.Context(), "next", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("started in a pause: %v", err)
	}
	c.presses("p")
	c.sees("resumed")

	// The last step waits for a yes.
	c.sees("[a]pprove 400")
	if _, err := client.CoreV1().ConfigMaps("app").Get(t.Context(), "last", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("started without approval: %v", err)
	}
	c.presses("a")
	c.sees("Approve step 400? 1 component may start then")
	c.presses("n")
	c.presses("a")
	c.sees("Approve step 400?")
	c.presses("y")
	c.sees("approved step 400")
	if out := c.ends(0); !strings.Contains(out, "succeeded") {
		t.Errorf("no report of a success")
	}
}

func TestDetachAndResume(t *testing.T) {
	t.Parallel()
	registry := ownPlanes(t)
	dir := writeGated(t)
	c := onTerminal(t, dir, "rehearse", "--plane", "left", "--speed", "100", "--least-timeout", "10m")
	c.sees(gateWaits)
	c.presses("p")
	c.sees("paused: nothing more starts")
	give(t, "KUBECONFIG="+filepath.Join(t.TempDir(), "none"))
	status := func(want string, flags ...string) {
		t.Helper()
		out := ladder(t, dir, append([]string{"status"}, flags...)...)
		if out.code != 0 || !strings.Contains(out.stdout, want) || !strings.Contains(out.stdout, gateWaits) {
			t.Errorf("status %v: exit code %d, no %q:\n%s%s", flags, out.code, want, out.stdout, out.stderr)
		}
	}
	status("driven by process", "--plane", "left")
	if out := ladder(t, dir, "resume", "--plane", "left", "--yes"); out.code != 1 || !strings.Contains(out.stderr, "is steered by the keys") {
		t.Errorf("resume from elsewhere: exit code %d, %s", out.code, out.stderr)
	}
	c.presses(ctrlC)
	c.sees("Ctrl-C again detaches")
	c.presses(ctrlC)
	out := c.ends(130)
	want := "ladder rehearse --least-timeout 10m0s --plane left --speed 100 --resume"
	if !strings.Contains(out, "detached; the plane stays up") || !strings.Contains(out, want) {
		t.Errorf("the command does not say how to go on: %q is missing", want)
	}
	left, err := registry.Get(t.Context(), "left")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--plane", "left"}, {"--kubeconfig", left.Kubeconfig}} {
		status("rehearsed on plane left", flags...)
	}
	goOn := "ladder rehearse " + dir + " --environment dev --plane left --least-timeout 10m0s --speed 100 --resume"
	if out := ladder(t, dir, "approve", "400", "--yes"); out.code != 1 || !strings.Contains(out.stderr, goOn) {
		t.Errorf("approve what nobody runs: exit code %d, %s", out.code, out.stderr)
	}

	openGate(t, clusterOf(t, registry, "left")) // the plane is up
	if out := ladder(t, dir, "rehearse", "--plane", "left", "--speed", "50", "--resume"); out.code != 2 || !strings.Contains(out.stderr, "was started with --speed 100") {
		t.Errorf("resumed at another speed: exit code %d, %s", out.code, out.stderr)
	}
	flags := []string{".", "--plane", "left", "--resume"} // at the speed that it was started with
	refused := ladder(t, dir, append([]string{"rehearse", "--progress", "none"}, flags...)...)
	if refused.code != 2 || !strings.Contains(refused.stderr, "step 400 starts by hand") || !strings.Contains(refused.stderr, "--approve 400") {
		t.Errorf("nobody approves step 400: exit code %d, %s", refused.code, refused.stderr)
	}
	// What was paused goes on: there is nobody to resume it.
	r, done := rehearsal(t, dir, append(flags, "--approve", "400")...)
	wantHealthy(t, r, done)
	if r.Speed != 100 {
		t.Errorf("went on at speed %g", r.Speed)
	}
}

func TestStopIsAnAbort(t *testing.T) {
	t.Parallel()
	ownPlanes(t)
	file := filepath.Join(t.TempDir(), "report.json")
	c := onTerminal(t, writeGated(t), "rehearse", "--speed", "100", "--least-timeout", "10m", "--report", file)
	c.sees(gateWaits)
	c.presses(ctrlC)
	c.sees("The plane is not kept (--keep): Ctrl-C again ends it, and the rollout with it")
	c.presses("d") // is not offered, and does nothing
	c.presses("s")
	c.sees("stopping: 1 in flight are cancelled, 2 never start")
	c.ends(1)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Rollout
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for name, component := range byName(r) {
		states[name] = component.State
	}
	want := map[string]string{"namespaces": "healthy", "gate": "aborted", "next": "blocked", "last": "blocked"}
	if r.Result != "aborted" || fmt.Sprint(states) != fmt.Sprint(want) {
		t.Errorf("result %q, components %v; want aborted, %v", r.Result, states, want)
	}
	if !strings.Contains(byName(r)["gate"].Message, "aborted") {
		t.Errorf("gate does not say why: %q", byName(r)["gate"].Message)
	}
}

func TestTheTerminalSurvives(t *testing.T) {
	t.Parallel()
	ownPlanes(t)
	dir := writeGated(t)
	t.Run("twice Ctrl-C on a plane that is not kept", func(t *testing.T) {
		c := onTerminal(t, dir, "rehearse", "--speed", "100", "--least-timeout", "10m")
		c.sees(gateWaits)
		c.presses(ctrlC + ctrlC)
		if out := c.ends(130); !strings.Contains(out, "there is nothing to go on with") {
			t.Errorf("the command does not say what became of the plane")
		}
	})
	t.Run("Ctrl-C before the rollout", func(t *testing.T) {
		c := onTerminal(t, dir, "rehearse", "--speed", "100")
		eventually(t, func() error { // the plane takes much longer to start
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.output) == 0 {
				return errors.New("the terminal shows nothing")
			}
			return nil
		})
		c.presses(ctrlC)
		c.ends(130)
	})
	t.Run("a signal", func(t *testing.T) {
		c := onTerminal(t, dir, "rehearse", "--speed", "100", "--least-timeout", "10m")
		c.sees(gateWaits)
		for _, pid := range children(c.shell.Process.Pid) {
			for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} { // as timeout does
				if err := syscall.Kill(pid, signal); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.ends(130)
		for drawn := range strings.SplitSeq(string(c.output), "\x1b[J") {
			if strings.Count(drawn, " Healthy  elapsed ") > 1 {
				t.Errorf("a board stays on the terminal:\n%s", plainText([]byte(drawn)))
			}
		}
	})
	t.Run("a suspension", func(t *testing.T) {
		c := onTerminal(t, dir, "rehearse", "--speed", "100", "--least-timeout", "10m")
		c.sees(gateWaits)
		pids := children(c.shell.Process.Pid)
		for _, signal := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGCONT} {
			for _, pid := range pids {
				if err := syscall.Kill(pid, signal); err != nil {
					t.Fatal(err)
				}
			}
			if signal == syscall.SIGTSTP {
				eventually(t, func() error { return stopped(pids) })
			}
		}
		c.presses("?")
		c.sees("approve a step that is started by hand")
		c.presses(ctrlC + ctrlC)
		c.ends(130)
	})
}

// stopped fails unless the processes are stopped.
func stopped(pids []int) error {
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return err
		}
		if _, rest, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(rest, "T") {
			return fmt.Errorf("process %d is in state %.1s", pid, rest)
		}
	}
	return nil
}

// Nothing of the terminal's display gets into a pipe, though the keyboard is
// there and the display was asked for.
func TestPipesGetNoControlCodes(t *testing.T) {
	t.Parallel()
	ownPlanes(t)
	_, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	for _, mode := range []string{"auto", "tty"} {
		cmd := command(t.Context(), t, writeGated(t), "rehearse", "--progress", mode, "--speed", "100", "--approve", "all", "--timeout", "3s")
		var stderr bytes.Buffer
		cmd.Stdin, cmd.Stderr = tty, &stderr
		_ = cmd.Run() // it times out at the gate
		if code := cmd.ProcessState.ExitCode(); code != 4 {
			t.Errorf("%s: exit code %d, want 4\n%s", mode, code, stderr.String())
		}
		if strings.ContainsAny(stderr.String(), "\x1b\r") || !strings.Contains(stderr.String(), "gate") {
			t.Errorf("%s: %q", mode, stderr.String())
		}
	}
}
