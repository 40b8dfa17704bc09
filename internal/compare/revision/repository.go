package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/intake"
)

// Repository is a Git repository, seen from a folder in it.
type Repository struct {
	// Top is the folder of the work tree; empty for a bare repository.
	Top string
	// Prefix is the folder relative to Top, with slashes; empty for Top itself.
	Prefix string

	dir string // where git is asked
	git string // the git folder that linked work trees share
	env []string
}

// Commit is a revision that was found.
type Commit struct {
	// Name is what was asked for, Hash the full hash of the commit.
	Name, Hash string
}

// Short is the hash as people write it.
func (c Commit) Short() string { return c.Hash[:min(len(c.Hash), 12)] }

// ErrUnknown says that the repository has no such revision.
var ErrUnknown = errors.New("there is no such revision")

// Open finds the repository that a folder belongs to. A folder in none is an
// *intake.InputError; offline keeps git from fetching what a partial clone lacks.
func Open(ctx context.Context, folder string, offline bool) (*Repository, error) {
	info, err := os.Stat(folder)
	if err != nil || !info.IsDir() {
		return nil, &intake.InputError{
			Message: fmt.Sprintf("there is no folder %s", folder),
			Hint:    "a folder that only a revision has is named with it: REVISION:FOLDER", Err: err,
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, fmt.Errorf("read revisions: the git command is needed: %w", err)
	}
	r := &Repository{dir: folder, env: environment(offline)}
	git, err := r.ask(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if strings.Contains(err.Error(), "dubious ownership") {
			return nil, &intake.InputError{Message: "git does not trust the repository of " + folder, Hint: "it belongs to somebody else; see safe.directory in git help config", Err: err}
		}
		return nil, &intake.InputError{Message: folder + " is in no Git repository", Hint: "name environments instead of revisions: env:dev env:prod", Err: err}
	}
	r.git = git
	bare, err := r.ask(ctx, "rev-parse", "--is-bare-repository")
	if err != nil {
		return nil, err
	}
	if bare == "true" {
		return r, nil
	}
	if r.Top, err = r.ask(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return nil, err
	}
	prefix, err := r.ask(ctx, "rev-parse", "--show-prefix")
	r.Prefix = strings.TrimSuffix(prefix, "/")
	return r, err
}

// environment is what git runs in: a hook that runs this command must not make it
// read another repository or index, and nothing may ask for a password.
func environment(offline bool) []string {
	var out []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY", "LC_ALL", "LANGUAGE":
		default:
			out = append(out, pair)
		}
	}
	out = append(out, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
	if offline {
		out = append(out, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	}
	return out
}

// Find resolves the name of a revision: a branch, tag, hash, HEAD~2. A name of
// none is ErrUnknown, an abbreviation of several an *intake.InputError.
func (r *Repository) Find(ctx context.Context, name string) (Commit, error) {
	if name == "" || strings.HasPrefix(name, "-") {
		return Commit{}, ErrUnknown
	}
	hash, err := r.ask(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	switch {
	case err == nil:
		return Commit{Name: name, Hash: hash}, nil
	case ctx.Err() != nil:
		return Commit{}, ctx.Err()
	case strings.Contains(err.Error(), "ambiguous"):
		return Commit{}, &intake.InputError{Message: fmt.Sprintf("revision %q names several objects", name), Hint: "give more of the hash", Err: err}
	default:
		return Commit{}, ErrUnknown
	}
}

// Shallow reports whether the repository lacks the beginning of its history.
func (r *Repository) Shallow(ctx context.Context) bool {
	shallow, err := r.ask(ctx, "rev-parse", "--is-shallow-repository")
	return err == nil && shallow == "true"
}

// failure is a git command that failed.
type failure struct {
	command, message string
	err              error
}

// Error implements error.
func (f *failure) Error() string {
	if f.message == "" {
		return fmt.Sprintf("git %s: %v", f.command, f.err)
	}
	return fmt.Sprintf("git %s: %s", f.command, f.message)
}

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// ask runs git in the folder of the repository and returns the line it writes.
func (r *Repository) ask(ctx context.Context, args ...string) (string, error) {
	out, err := run(ctx, r.dir, r.env, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

func run(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	// Nothing of what the repository's configuration may start is needed.
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.sparseCheckout=false", "-c", "advice.detachedHead=false"}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		message := finding.Redact(strings.Join(strings.Fields(problems.String()), " "))
		return nil, &failure{command: command(args), message: strings.TrimPrefix(message, "fatal: "), err: err}
	}
	return out.Bytes(), nil
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

// clean makes a slash path relative to the top of the repository; ok is false for
// one that leaves it.
func clean(folder string) (string, bool) {
	folder = filepath.ToSlash(filepath.Clean(strings.TrimPrefix(folder, "/")))
	return strings.TrimPrefix(folder, "./"), folder != ".." && !strings.HasPrefix(folder, "../")
}
