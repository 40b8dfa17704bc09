package diffcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/revision"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// environmentPrefix marks the name of an environment.
const environmentPrefix = "env:"

// end is one of the two things that are compared.
type end struct {
	// name is as it was written.
	name string
	// commit is set for a revision, with the folder of the platform in it.
	commit *revision.Commit
	folder string
	// environment is set where the argument names one.
	environment string
}

// find says what an argument names: the work tree, an environment, else a
// revision, else an environment.
func (l *loader) find(ctx context.Context, name string) (end, error) {
	if name == "." {
		return end{name: name}, nil
	}
	if environment, ok := strings.CutPrefix(name, environmentPrefix); ok {
		return l.environment(ctx, name, environment)
	}
	repository, err := l.open(ctx)
	if err != nil {
		if e, envErr := l.environment(ctx, name, name); envErr == nil {
			return e, nil
		}
		return end{}, err
	}
	revisionName, folder, given := strings.Cut(name, ":")
	if !given {
		folder = repository.Prefix()
	}
	commit, err := repository.Find(ctx, revisionName)
	switch {
	case err == nil:
		l.warnOfBoth(ctx, name)
		return end{name: name, commit: &commit, folder: folder}, nil
	case !errors.Is(err, revision.ErrUnknown):
		return end{}, err
	}
	if e, err := l.environment(ctx, name, name); err == nil {
		return e, nil
	}
	names, _ := l.environments(ctx)
	hint := "ladder diff takes revisions, environments and . for the work tree"
	if len(names) > 0 {
		hint = "the environments are " + strings.Join(names, ", ")
	}
	if further := repository.Hint(); further != "" {
		hint += "; " + further
	}
	return end{}, &repo.InputError{Message: fmt.Sprintf("%q is no revision of the repository and no environment of the platform", name), Hint: hint}
}

// environment finds an environment of the work tree.
func (l *loader) environment(ctx context.Context, name, environment string) (end, error) {
	names, err := l.environments(ctx)
	if err != nil {
		return end{}, err
	}
	if !slices.Contains(names, environment) {
		return end{}, yamldoc.Unknown("environment", environment, names)
	}
	return end{name: name, environment: environment}, nil
}

// look reads what the environments of the work tree share, once.
func (l *loader) look(ctx context.Context) (*analysis.Repository, error) {
	if l.work == nil {
		options := source.Options(l.options.Source)
		options.Progress = l.counted
		work, err := analysis.Look(ctx, l.options.Path, options)
		if err != nil {
			return nil, err
		}
		l.work = work
	}
	return l.work, nil
}

// environments are those of the work tree.
func (l *loader) environments(ctx context.Context) ([]string, error) {
	work, err := l.look(ctx)
	if err != nil {
		return nil, err
	}
	return work.Environments(), nil
}

// warnOfBoth says that a name is that of a revision and of an environment.
func (l *loader) warnOfBoth(ctx context.Context, name string) {
	if names, err := l.environments(ctx); err == nil && slices.Contains(names, name) && !l.global.Quiet {
		fmt.Fprintf(l.streams.Err, "%s is a revision and an environment; the revision is meant (%s%s is the environment)\n", name, environmentPrefix, name)
	}
}

// open finds the repository, once.
func (l *loader) open(ctx context.Context) (*revision.Repository, error) {
	if l.repository == nil {
		r, err := revision.Open(ctx, l.options.Path)
		if input := (*repo.InputError)(nil); errors.As(err, &input) && input.Hint == "" {
			input.Hint = "name environments instead of revisions: env:dev env:prod"
		}
		if err != nil {
			return nil, err
		}
		l.repository = r
	}
	return l.repository, nil
}
