package incluster

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/rollout-ladder/ladder/internal/store"
)

// holder is who holds a lease.
type holder struct {
	store.Holder
	ID string `json:"id"`
	// Machine and Born let a process of the same machine see that the holder has
	// ended: the boot and PID namespace it lives in, and when it began. Empty where
	// the system does not tell.
	Machine string `json:"machine,omitempty"`
	Born    string `json:"born,omitempty"`
}

// newHolder is this process.
func newHolder(owner string, now time.Time) holder {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	pid := os.Getpid()
	return holder{
		Holder: store.Holder{PID: pid, Host: host, Started: now.UTC().Truncate(time.Second), Owner: owner},
		ID:     string(uuid.NewUUID()), Machine: machine(), Born: born(pid),
	}
}

// identity is the holder as a Lease names it.
func (h holder) identity() string {
	if h.PID == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%d/%s", h.Host, h.PID, h.ID)
}

// ended reports that the holder is a process of this machine that has ended.
func (h holder) ended() bool {
	if h.Machine == "" || h.Machine != machine() || h.Born == "" {
		return false
	}
	return errors.Is(unix.Kill(h.PID, 0), unix.ESRCH) || born(h.PID) != h.Born
}

// machine identifies what process ids are valid in: a boot of a machine and a
// PID namespace. Empty where the system does not tell. Source: proc(5),
// pid_namespaces(7).
func machine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + namespace
}

// born is when a process began, in clock ticks after the boot; empty for one
// that is not there or has ended and was not waited for. Source: proc(5),
// /proc/pid/stat, fields 3 and 22, after the name in parentheses.
func born(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, ok := cutLast(string(text), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
