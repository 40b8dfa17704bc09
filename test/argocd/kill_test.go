package argocd_test

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

// TestNothingIsLeftBehind ends a rehearsal while Argo CD runs, by kill -9 and by an
// interrupt: no process of it stays, and no folder of the plane.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "interrupted": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			argo := binary(t)
			t.Parallel()
			p := slowChain(t)
			cmd := exec.CommandContext(t.Context(), planetest.Binary(t), "rehearse", ".", "--engine", "argocd", "--argocd-binary", argo, "--progress", "plain")
			cmd.Dir = p.dir
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = cmd.Wait()
			}()
			var found []int
			await(t, 8*time.Minute, "Argo CD runs", func() bool {
				select {
				case <-ended:
					t.Fatalf("the rehearsal ended before Argo CD ran: exit code %d\n%s", cmd.ProcessState.ExitCode(), stderr.String())
				default:
				}
				found = planetest.Processes(t, cmd.Process.Pid)
				return running(found, "argocd-application-controller") && running(found, "argocd-applicationset-controller")
			})
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			<-ended
			await(t, 30*time.Second, "nothing of it runs", func() bool {
				for _, pid := range found {
					if alive(pid) {
						return false
					}
				}
				return true
			})
			if signal == syscall.SIGINT && cmd.ProcessState.ExitCode() != 130 {
				t.Errorf("exit code %d, want 130\n%s", cmd.ProcessState.ExitCode(), stderr.String())
			}
		})
	}
}

// await waits until a condition holds. It looks twice a second: a look at all processes of
// the machine takes the time of the rehearsals beside it.
func await(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("after %s it is not so that %s", limit, what)
		}
		<-tick.C
	}
}

// running reports whether one of the processes has an argument.
func running(pids []int, argument string) bool {
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err == nil && strings.Contains(string(text), argument) {
			return true
		}
	}
	return false
}

// alive reports whether a process runs; one that has ended and that nobody waited
// for does not.
func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	state := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	return len(state) > 0 && state[0] != "Z"
}
