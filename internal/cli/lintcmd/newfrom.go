package lintcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/revision"
)

// before is the revision of --new-from, whose findings are known.
type before struct {
	repository *revision.Repository
	commit     revision.Commit
	// folder is that of the platform, relative to the top of the repository.
	folder string
}

// findBefore looks for the revision; nil without --new-from.
func findBefore(ctx context.Context, o *Options) (*before, error) {
	if o.NewFrom == "" {
		return nil, nil
	}
	repository, err := revision.Open(ctx, o.Path)
	if input := (*repo.InputError)(nil); errors.As(err, &input) && input.Hint == "" {
		input.Hint = "--baseline FILE knows findings without Git"
	}
	if err != nil {
		return nil, source.Coded(fmt.Errorf("--new-from %s: %w", o.NewFrom, err))
	}
	name, folder, given := strings.Cut(o.NewFrom, ":")
	if !given {
		folder = repository.Prefix()
	}
	commit, err := repository.Find(ctx, name)
	if errors.Is(err, revision.ErrUnknown) {
		err = &repo.InputError{Message: "the repository has no revision " + name, Hint: repository.Hint(), Err: err}
	}
	if err != nil {
		return nil, errors.Join(source.Coded(fmt.Errorf("--new-from %s: %w", o.NewFrom, err)), repository.Close())
	}
	return &before{repository, commit, folder}, nil
}

// close removes what was written of the revision.
func (b *before) close() error {
	if b == nil {
		return nil
	}
	if err := b.repository.Close(); err != nil {
		return exit.With(exit.CouldNotRun, fmt.Errorf("clean up: %w", err))
	}
	return nil
}

// known lints the revision as the work tree was linted, and returns how often it
// has each fingerprint.
func (b *before) known(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options, now *judgement) (map[string]int, error) {
	tree, err := b.repository.Checkout(ctx, b.commit, b.folder)
	if err != nil {
		return nil, source.Coded(fmt.Errorf("--new-from: %w", err))
	}
	then := *o
	then.Path, then.revision, then.environments = tree.Folder, tree, now.environments
	old, err := judge(ctx, streams, global, &then)
	if err != nil {
		return nil, source.Coded(fmt.Errorf("--new-from: %w", tree.Wrap(err)))
	}
	if !global.Quiet {
		for _, unknown := range old.lessThan(now) {
			fmt.Fprintf(streams.Err, "%s could not be judged whole, and what is found there counts as new: %s\n", b.commit.Name, report.Plain(tree.Strip(unknown)))
		}
	}
	known := map[string]int{}
	for _, f := range old.findings {
		known[lint.Fingerprint(f)]++
	}
	return known, nil
}

// lessThan says what could not be judged though another judgement could, or did not
// have it.
func (j *judgement) lessThan(other *judgement) []string {
	known := map[report.UnreadPart]bool{}
	for _, u := range other.coverage().Unread {
		known[report.UnreadPart{Name: u.Name, File: u.File}] = true
	}
	var list []string
	for _, u := range j.coverage().Unread {
		if known[report.UnreadPart{Name: u.Name, File: u.File}] {
			continue
		}
		what := finding.Position{File: u.File, Line: u.Line}.String()
		if u.Name != u.File {
			what += ": " + u.Name
		}
		list = append(list, what+": "+u.Reason)
	}
	return list
}
