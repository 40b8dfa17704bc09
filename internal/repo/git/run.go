package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// MissingError says that there is no command git.
type MissingError struct{ Err error }

// Error implements error.
func (e *MissingError) Error() string {
	return "the command git is needed, and it is not on PATH: install git"
}

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }

// Available returns a *MissingError where there is no command git.
func Available() error {
	if _, err := exec.LookPath("git"); err != nil {
		return &MissingError{err}
	}
	return nil
}

// CommandError says that git failed.
type CommandError struct {
	// Command is the command of git, Message what git wrote.
	Command, Message string
	Err              error
}

// Error implements error.
func (e *CommandError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("git %s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("git %s: %s", e.Command, e.Message)
}

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// settings are the configuration of every call. The repositories have none that
// could say otherwise; these switch off what git does by itself.
var settings = []string{
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.attributesFile=" + os.DevNull,
	"-c", "core.excludesFile=" + os.DevNull,
	"-c", "core.fsmonitor=false",
	"-c", "protocol.allow=never",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
}

// environment is the whole environment of git. home is an empty folder.
func environment(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"XDG_CONFIG_HOME=" + home,
		"LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_SYSTEM=" + os.DevNull,
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",
	}
}

// folder is a repository that Ladder made, with an empty folder beside it.
type folder struct {
	// git is the folder of the repository, home the empty one, where git runs.
	git, home string
}

// run runs a command of git in a repository that Ladder made.
func (f folder) run(ctx context.Context, stdin io.Reader, stdout io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append(append([]string{"--git-dir=" + f.git}, settings...), args...)...)
	cmd.Dir, cmd.Env = f.home, environment(f.home)
	cmd.Stdin, cmd.Stdout = stdin, stdout
	// A child of git could keep its output open after git was killed.
	cmd.WaitDelay = 5 * time.Second
	problems := limited{left: 64 << 10}
	cmd.Stderr = &problems
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &CommandError{Command: command(args), Message: plain(problems.text.String()), Err: err}
	}
	return nil
}

// output is what a command of git writes, which is short.
func (f folder) output(ctx context.Context, args ...string) (string, error) {
	out := limited{left: 16 << 20}
	err := f.run(ctx, nil, &out, args...)
	return out.text.String(), err
}

// limited keeps the beginning of what is written to it.
type limited struct {
	text bytes.Buffer
	left int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	keep := min(len(p), l.left)
	l.left -= keep
	l.text.Write(p[:keep])
	return len(p), nil
}

// plain is what git wrote as one line. It may quote what the repository holds.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	return strings.TrimPrefix(finding.Redact(strings.Join(strings.Fields(text), " ")), "fatal: ")
}

// command is the name of a git command among its arguments.
func command(args []string) string {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			return arg
		}
	}
	return ""
}
