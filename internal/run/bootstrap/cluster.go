package bootstrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// The tools that make clusters.
const (
	k3d  = "k3d"
	kind = "kind"
)

// context is the one that the tool writes into the kubeconfig. Source: k3d,
// "Handling Kubeconfigs"; kind, "Quick Start".
func (c Create) context() string { return c.Tool + "-" + c.Name }

// ToolError is a command that is missing or has failed.
type ToolError struct {
	Tool    string
	Message string
}

// Error implements error.
func (e *ToolError) Error() string { return e.Tool + ": " + e.Message }

// tool runs the commands that make clusters.
type tool struct {
	run    *run
	create Create
	// root is that of the platform, where the command runs.
	root string
}

// ensure makes or starts the cluster where it does not run. In a dry run it says
// what it would do.
func (t *tool) ensure(ctx context.Context, s *report.BootstrapStage, reset bool) (there bool, err error) {
	if _, err := exec.LookPath(t.create.Tool); err != nil {
		return false, &ToolError{t.create.Tool, fmt.Sprintf("the command is not installed; install it, or name a cluster that runs: cluster: {context: %s}", t.create.context())}
	}
	exists, runs, err := t.state(ctx)
	if err != nil {
		return false, err
	}
	dry := t.run.options.DryRun
	// What failed was not done: the tools take back what they began.
	did := func(action string, do func() error) error {
		if !dry {
			if err := do(); err != nil {
				return err
			}
		}
		s.Objects = append(s.Objects, report.BootstrapObject{Object: "cluster " + t.create.context(), Action: action})
		return nil
	}
	if exists && reset {
		if err := did(report.ObjectDeleted, func() error { return t.delete(ctx) }); err != nil {
			return false, err
		}
		exists = false
	}
	switch {
	case !exists:
		err = did(report.ObjectCreated, func() error { return t.make(ctx) })
	case !runs:
		err = did(report.ObjectChanged, func() error { return t.start(ctx) })
	default:
		return true, did(report.ObjectUnchanged, func() error { return nil })
	}
	return !dry && err == nil, err
}

// state asks whether the cluster exists, and whether it runs: kind's always do
// as far as kind can tell.
func (t *tool) state(ctx context.Context) (exists, runs bool, err error) {
	if t.create.Tool == kind {
		out, err := t.command(ctx, "get", "clusters")
		if err != nil {
			return false, false, err
		}
		there := slices.Contains(strings.Fields(string(out)), t.create.Name)
		return there, there, nil
	}
	out, err := t.command(ctx, "cluster", "list", "--output", "json")
	if err != nil {
		return false, false, err
	}
	var clusters []struct {
		Name           string `json:"name"`
		ServersRunning int    `json:"serversRunning"`
	}
	if err := json.Unmarshal(out, &clusters); err != nil {
		return false, false, &ToolError{k3d, "its list of clusters cannot be read: " + err.Error()}
	}
	for _, c := range clusters {
		if c.Name == t.create.Name {
			return true, c.ServersRunning > 0, nil
		}
	}
	return false, false, nil
}

func (t *tool) make(ctx context.Context) error {
	t.run.note("making cluster %s", t.create.context())
	args := []string{"cluster", "create", t.create.Name}
	if t.create.Tool == kind {
		args = []string{"create", "cluster", "--name", t.create.Name}
	}
	if t.create.Config != "" {
		file, err := (&repofs.Tree{Root: t.root, Repository: t.root}).Resolve(t.create.Config, t.create.Position)
		if err != nil {
			return err
		}
		args = append(args, "--config", file)
	}
	_, err := t.command(ctx, append(args, t.create.Args...)...)
	return err
}

func (t *tool) start(ctx context.Context) error {
	t.run.note("starting cluster %s", t.create.context())
	_, err := t.command(ctx, "cluster", "start", t.create.Name)
	return err
}

func (t *tool) delete(ctx context.Context) error {
	t.run.note("deleting cluster %s", t.create.context())
	args := []string{"cluster", "delete", t.create.Name}
	if t.create.Tool == kind {
		args = []string{"delete", "cluster", "--name", t.create.Name}
	}
	_, err := t.command(ctx, args...)
	return err
}

// killAfter is how long an interrupted command may take to end in order.
const killAfter = 10 * time.Second

// command runs the tool without the environment variables that hold secrets, and
// returns what it prints. What it says beside that is the message of its failure.
func (t *tool) command(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, t.create.Tool, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killAfter
	cmd.Dir = t.root
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(t.run.values.variables, name)
	})
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	message := reason(said.String())
	if message == "" {
		message = err.Error()
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		message = err.Error()
	}
	return nil, &ToolError{Tool: filepath.Base(t.create.Tool) + " " + args[0] + " " + args[1], Message: message}
}

var (
	colours = lazyregexp.New(`\x1b\[[0-9;]*m`)
	// failed begins a line about an error of k3d.
	failed = lazyregexp.New(`^(ERRO|FATA)\[[0-9]+\]\s*`)
)

// reason is what a tool says of why it failed. k3d says it before it takes back what it did, and then of
// each part that was not there; kind says it first, with the output of what it ran. Of any other it is the
// last line.
func reason(said string) string {
	lines := strings.Split(strings.TrimSpace(colours.ReplaceAllString(said, "")), "\n")
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, "ERROR: "); ok {
			return strings.Join(append([]string{rest}, lines[i+1:]...), " ")
		}
	}
	before := lines
	if i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "Rolling Back") }); i > 0 {
		before = lines[:i]
	}
	for _, line := range slices.Backward(before) {
		if prefix := failed.FindString(line); prefix != "" {
			return strings.TrimSpace(line[len(prefix):])
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
