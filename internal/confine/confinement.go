package confine

import (
	"fmt"
	"strings"
)

// Mode says how much confinement is wanted.
type Mode string

// The modes.
const (
	// Auto takes what the system has.
	Auto Mode = "auto"
	// Required refuses to run without a seccomp filter and Landlock.
	Required Mode = "required"
	// Off leaves the kernel's confinement away. The worker still has an empty
	// environment, no client for the network, and its limits.
	Off Mode = "off"
)

// Modes are all modes.
func Modes() []string { return []string{string(Auto), string(Required), string(Off)} }

// Confinement is what holds a worker.
type Confinement struct {
	// Seccomp is set where a filter refuses every system call but those that
	// computing needs.
	Seccomp bool `json:"seccomp"`
	// Landlock is the version of Landlock's interface in force; 0 is none.
	Landlock int `json:"landlock"`
	// Memory is the limit on the memory of a worker that the kernel holds, in bytes;
	// 0 is none.
	Memory int64 `json:"memory"`
	// Lacking are the reasons why something is not in force.
	Lacking []string `json:"lacking,omitempty"`
}

// Full reports whether everything that a system can have is in force.
func (c Confinement) Full() bool { return c.Seccomp && c.Landlock > 0 && c.Memory > 0 }

// String is one line for people.
func (c Confinement) String() string {
	parts := []string{"a process of its own without environment"}
	if c.Seccomp {
		parts = append(parts, "seccomp")
	}
	if c.Landlock > 0 {
		parts = append(parts, fmt.Sprintf("Landlock %d", c.Landlock))
	}
	if c.Memory > 0 {
		parts = append(parts, fmt.Sprintf("%d MiB of memory", c.Memory>>20))
	}
	line := strings.Join(parts, ", ")
	if len(c.Lacking) > 0 {
		line += "; lacking: " + strings.Join(c.Lacking, "; ")
	}
	return line
}
