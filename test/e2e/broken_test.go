package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// background is a command that runs while the test does something to it.
type background struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan struct{}
}

// start runs the command in the background; it ends with the test at the latest.
func start(t *testing.T, dir string, args ...string) *background {
	t.Helper()
	return started(t, command(context.Background(), t, dir, args...))
}

func started(t *testing.T, cmd *exec.Cmd) *background {
	t.Helper()
	b := &background{cmd: cmd, done: make(chan struct{})}
	b.cmd.Stdout, b.cmd.Stderr = &b.stdout, &b.stderr
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = b.cmd.Wait() // the state of the process tells
		close(b.done)
	}()
	t.Cleanup(func() {
		_ = b.cmd.Process.Signal(os.Interrupt)
		<-b.done
	})
	return b
}

// end waits for the end and returns the exit code.
func (b *background) end(t *testing.T) (code int, stderr string) {
	t.Helper()
	select {
	case <-b.done:
	case <-time.After(patience):
		t.Fatalf("the command does not end")
	}
	return b.cmd.ProcessState.ExitCode(), b.stderr.String()
}

// child waits for the process of the command's plane.
func (b *background) child(t *testing.T) int {
	t.Helper()
	var pid int
	eventually(t, func() error {
		own := strconv.Itoa(b.cmd.Process.Pid)
		tasks, err := filepath.Glob(filepath.Join("/proc", own, "task", "*", "children"))
		if err != nil || len(tasks) == 0 {
			t.Skip("this system does not list the children of a process")
		}
		for _, file := range tasks {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // a thread that has ended
			}
			for _, field := range strings.Fields(string(text)) {
				// The others are workers.
				line, _ := os.ReadFile(filepath.Join("/proc", field, "cmdline"))
				if strings.Contains(string(line), "\x00plane\x00run\x00") {
					pid, err = strconv.Atoi(field)
					return err
				}
			}
		}
		return errors.New("it has no plane yet")
	})
	return pid
}

// slowPlatform rolls out for longer than any of these tests.
func slowPlatform(t *testing.T) string {
	t.Helper()
	dir := writeCanary(t, nil)
	text := "durations: {types: {runtime: 1h}, components: {app: 1h}}\n"
	file := filepath.Join(dir, "ladder.yaml")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(old, text...), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// rollingOut waits until the rollout on the kept plane has begun.
func rollingOut(t *testing.T, state, plane string) {
	t.Helper()
	eventually(t, func() error {
		_, err := os.Stat(filepath.Join(state, "ladder", "planes", plane, "plane", "rollout", "snapshot.json"))
		return err
	})
}

func TestRehearsalWithoutItsPlane(t *testing.T) {
	t.Parallel()
	state := ownHome(t)
	b := start(t, slowPlatform(t), "rehearse", "--plane", "mortal", "--progress", "none", "--speed", "1")
	rollingOut(t, state, "mortal")
	if err := syscall.Kill(b.child(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code, stderr := b.end(t); code != 3 || !strings.Contains(stderr, "the control plane ended in the middle of the rollout") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// A plane that hangs is told from components that do not become Healthy, and the
// rollout goes on when it is there again.
func TestRehearsalOnAPlaneThatHangs(t *testing.T) {
	t.Parallel() // most of it is waiting
	state := t.TempDir()
	k := &killer{t: t, state: state}
	t.Cleanup(func() { _ = k.command(context.Background(), "plane", "down", "hung").Run() })
	report := filepath.Join(t.TempDir(), "report.json")
	// Timeouts of components that would end while the plane hangs.
	k.args = []string{"rehearse", slowPlatform(t), "--plane", "hung", "--progress", "none", "--speed", "300", "--least-timeout", "15s"}
	b := started(t, k.command(context.Background(), append(slices.Clone(k.args), "--report", report)...))
	journal := filepath.Join(state, "ladder", "planes", "hung", "plane", "rollout")
	eventually(t, func() error {
		if healthy := countIn(t, journal, `"to":"healthy"`); healthy < 2 {
			return fmt.Errorf("%d components are Healthy", healthy)
		}
		return nil
	})
	pid := b.child(t)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	code, stderr := b.end(t)
	if code != 3 || !strings.Contains(stderr, "the control plane stopped answering") || !strings.Contains(stderr, "--resume") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	for _, blame := range []string{"failed", "timed-out"} {
		if n := countIn(t, journal, `"to":"`+blame+`"`); n > 0 || strings.Contains(stderr, blame) {
			t.Errorf("%d components are called %s: %s", n, blame, stderr)
		}
	}
	if _, err := os.Stat(report); err == nil {
		t.Error("a report was written")
	}

	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	k.args = append(k.args, "--resume")
	wantHealthy(t, *k.run(0), outcome{})
}

// countIn counts a text in the files of a folder.
func countIn(t *testing.T, dir, text string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0 // not there yet
	}
	n := 0
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil {
			n += strings.Count(string(content), text)
		}
	}
	return n
}

func TestInterruptedRehearsal(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(fmt.Sprint(signal), func(t *testing.T) {
			t.Parallel()
			state := ownHome(t)
			dir := slowPlatform(t)
			nothing := ladder(t, dir, "rehearse", "--plane", "x", "--resume", "--progress", "none")
			if nothing.code != 2 || !strings.Contains(nothing.stderr, "no rollout to resume") {
				t.Errorf("resuming nothing: exit code %d, %s", nothing.code, nothing.stderr)
			}

			b := start(t, dir, "rehearse", "--plane", "x", "--progress", "none", "--speed", "1")
			rollingOut(t, state, "x")
			second := ladder(t, dir, "rehearse", "--plane", "x", "--progress", "none")
			if second.code != 3 || !strings.Contains(second.stderr, fmt.Sprintf("process %d", b.cmd.Process.Pid)) {
				t.Errorf("a second run: exit code %d, %s", second.code, second.stderr)
			}
			if err := b.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if code, stderr := b.end(t); code != 130 {
				t.Errorf("exit code %d: %s", code, stderr)
			}

			other := ladder(t, dir, "rehearse", "--plane", "x", "--progress", "none", "--policy", "serial")
			if other.code != 2 || !strings.Contains(other.stderr, "--fresh") {
				t.Errorf("another rollout over it: exit code %d, %s", other.code, other.stderr)
			}
			r, out := rehearsal(t, dir, ".", "--plane", "x", "--fresh", "--speed", "100000")
			wantHealthy(t, r, out)
		})
	}
}

// An interrupt at any moment ends the command and everything it started.
func TestInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := slowPlatform(t)
	for _, after := range []time.Duration{100 * time.Millisecond, 700 * time.Millisecond, 2 * time.Second, 4 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			temporary := t.TempDir()
			give(t, "TMPDIR="+temporary)
			b := start(t, dir, "rehearse", "--progress", "none", "--speed", "1")
			pid := b.child(t)
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			<-ctx.Done()
			if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code, stderr := b.end(t); code != 130 || strings.Count(stderr, "\n") > 1 {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
			eventually(t, func() error {
				if processLives(pid) {
					return fmt.Errorf("the plane's process %d lives", pid)
				}
				return nil
			})
			left, err := os.ReadDir(temporary)
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}
