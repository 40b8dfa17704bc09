package diffcmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/diff"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/revision"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// loader reads both sides.
type loader struct {
	streams  *stream.Streams
	global   *flags.Global
	options  *Options
	expected map[string]time.Duration

	repository *revision.Repository
	// work is the platform in the work tree.
	work *analysis.Repository
	// display shows how far the side called reading is.
	display progress.Display
	reading string
}

// close removes what was written.
func (l *loader) close() error {
	var err error
	if l.work != nil {
		l.work.Close()
	}
	if l.repository != nil {
		err = l.repository.Close()
	}
	if err != nil {
		return exit.With(exit.CouldNotRun, fmt.Errorf("clean up: %w", err))
	}
	return nil
}

// compare loads both sides and compares their environments.
func (l *loader) compare(ctx context.Context) ([]diff.Comparison, error) {
	var ends [2]end
	for i, name := range []string{l.options.From, l.options.To} {
		e, err := l.find(ctx, name)
		if err != nil {
			return nil, err
		}
		ends[i] = e
	}
	if ends[0].environment != "" && ends[1].environment != "" && l.options.Environment != "" {
		return nil, &repo.InputError{Message: "--environment goes with revisions: both sides name an environment already"}
	}
	if l.options.Environment == flags.All && (ends[0].environment != "" || ends[1].environment != "") {
		return nil, &repo.InputError{Message: "-e all goes with revisions and the work tree only", Hint: "compare an environment with one other"}
	}
	var sides [2][]diff.Side
	for i, e := range ends {
		loaded, err := l.load(ctx, e)
		if err != nil {
			return nil, err
		}
		sides[i] = loaded
	}
	if l.options.Environment != flags.All {
		return []diff.Comparison{diff.Compare(sides[0][0], sides[1][0])}, nil
	}
	return pair(ends, sides), nil
}

// pair compares the environments of one name.
func pair(ends [2]end, sides [2][]diff.Side) []diff.Comparison {
	var names []string
	by := [2]map[string]diff.Side{{}, {}}
	for i := range sides {
		for _, s := range sides[i] {
			names = append(names, s.Environment)
			by[i][s.Environment] = s
		}
	}
	slices.Sort(names)
	var out []diff.Comparison
	for _, name := range slices.Compact(names) {
		var two [2]diff.Side
		for i, e := range ends {
			s, ok := by[i][name]
			if !ok {
				s = diff.MissingSide(e.name, e.hash(), name)
			}
			two[i] = s
		}
		out = append(out, diff.Compare(two[0], two[1]))
	}
	return out
}

func (e end) hash() string {
	if e.commit == nil {
		return ""
	}
	return e.commit.Hash
}

// load reads, renders and plans one side.
func (l *loader) load(ctx context.Context, e end) ([]diff.Side, error) {
	l.display, l.reading = progress.New(l.streams, l.global, time.Now), e.name
	defer l.display.Close()
	folder := l.options.Path
	var tree *revision.Tree
	if e.commit != nil {
		var err error
		l.display.Stage("reading " + e.name)
		if tree, err = l.repository.Checkout(ctx, *e.commit, e.folder); err != nil {
			return nil, err
		}
		folder = tree.Folder
	}
	loaded, err := l.platforms(ctx, folder, e.environment)
	if err != nil {
		return nil, within(err, tree)
	}
	var out []diff.Side
	for _, one := range loaded {
		if tree != nil {
			if err := tree.Lacking(one.Platform); err != nil {
				return nil, err
			}
		}
		planned, err := plan.Build(session.PlanInput(one, rollout.Policy(l.options.Policy), l.expected, 0))
		if err != nil {
			return nil, within(exit.With(exit.Usage, err), tree)
		}
		out = append(out, diff.SideOf(e.name, e.hash(), one, planned, hide(session.Unrendered(one), tree)))
	}
	return out, nil
}

// platforms loads the environments of one side: the one that its name says, else
// what --environment says.
func (l *loader) platforms(ctx context.Context, folder, environment string) ([]*analysis.Result, error) {
	var one *analysis.Result
	var err error
	options := source.Options(l.options.Source)
	options.Progress = l.counted
	switch {
	case environment != "":
		one, err = l.work.Load(ctx, environment) // it was looked for there
	case options.Environment == flags.All:
		options.Environment = ""
		return analysis.LoadAll(ctx, folder, options)
	default:
		one, err = analysis.Load(ctx, folder, options)
	}
	if err != nil {
		return nil, err
	}
	return []*analysis.Result{one}, nil
}

// counted shows how far the rendering of a side is.
func (l *loader) counted(done, total int, what string) {
	if l.display != nil {
		l.display.Counted(done, total, what+" "+l.reading)
	}
}

// within says which revision an error is about.
func within(err error, tree *revision.Tree) error {
	if tree == nil {
		return err
	}
	return tree.Wrap(err)
}

// hide takes the temporary folder out of what could not be rendered.
func hide(unrendered []report.Unrendered, tree *revision.Tree) []report.Unrendered {
	if tree == nil {
		return unrendered
	}
	for i := range unrendered {
		unrendered[i].Reason = tree.Strip(unrendered[i].Reason)
		unrendered[i].Source = tree.Strip(unrendered[i].Source)
	}
	return unrendered
}
