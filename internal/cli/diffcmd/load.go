package diffcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/diff"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/revision"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// allEnvironments is the environment that stands for every one.
const allEnvironments = "all"

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
	// scratch is the temporary folder that revisions are written to.
	scratch string
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
	if l.scratch != "" {
		err = errors.Join(err, os.RemoveAll(l.scratch))
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
	if l.options.Environment == allEnvironments && (ends[0].environment != "" || ends[1].environment != "") {
		return nil, &repo.InputError{Message: "-e all goes with revisions and the work tree only", Hint: "compare an environment with one other"}
	}
	var sides [2][]diff.Side
	for i, e := range ends {
		loaded, err := l.load(ctx, e, i)
		if err != nil {
			return nil, err
		}
		sides[i] = loaded
	}
	if l.options.Environment != allEnvironments {
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
func (l *loader) load(ctx context.Context, e end, number int) ([]diff.Side, error) {
	l.display, l.reading = progress.New(l.streams, l.global, time.Now), e.name
	defer l.display.Close()
	folder := l.options.Path
	var tree *revision.Tree
	if e.commit != nil {
		var err error
		l.display.Stage("reading " + e.name)
		if tree, err = l.checkout(ctx, e, number); err != nil {
			return nil, err
		}
		folder = tree.Folder
	}
	loaded, err := l.platforms(ctx, folder, e.environment)
	if err != nil {
		return nil, within(err, e, tree)
	}
	var out []diff.Side
	for _, one := range loaded {
		if err := lacking(one.Platform, e, tree); err != nil {
			return nil, err
		}
		planned, err := plan.Build(session.PlanInput(one, rollout.Policy(l.options.Policy), l.expected, 0))
		if err != nil {
			return nil, within(exit.With(exit.Usage, err), e, tree)
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
	case options.Environment == allEnvironments:
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

// checkout writes a revision to the temporary folder.
func (l *loader) checkout(ctx context.Context, e end, number int) (*revision.Tree, error) {
	if l.scratch == "" {
		folder, err := os.MkdirTemp("", "ladder-diff-")
		if err != nil {
			return nil, fmt.Errorf("make a temporary folder: %w", err)
		}
		l.scratch = folder
		if l.scratch, err = filepath.EvalSymlinks(folder); err != nil {
			return nil, fmt.Errorf("make a temporary folder: %w", err)
		}
	}
	return l.repository.Checkout(ctx, *e.commit, e.folder, filepath.Join(l.scratch, strconv.Itoa(number)))
}

// sideError says which side an error is about, and names no temporary folder.
type sideError struct {
	end  end
	tree *revision.Tree
	err  error
}

func within(err error, e end, tree *revision.Tree) error {
	if tree == nil {
		return err
	}
	return &sideError{e, tree, err}
}

// Error implements error.
func (s *sideError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "revision %s: %s", s.end.name, strip(s.err.Error(), s.tree))
	for _, m := range s.tree.Missing {
		fmt.Fprintf(&text, "\nits submodule %s is not at hand: git submodule update --init %s", m.Path, m.Path)
	}
	return text.String()
}

// Unwrap returns the cause.
func (s *sideError) Unwrap() error { return s.err }

// strip takes the temporary folder out of a text.
func strip(text string, tree *revision.Tree) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, tree.Top+"/", ""), tree.Top, ".")
}

// hide takes the temporary folder out of what could not be rendered.
func hide(unrendered []report.Unrendered, tree *revision.Tree) []report.Unrendered {
	if tree == nil {
		return unrendered
	}
	for i := range unrendered {
		unrendered[i].Reason = strip(unrendered[i].Reason, tree)
		unrendered[i].Source = strip(unrendered[i].Source, tree)
	}
	return unrendered
}

// lacking refuses a platform of which something is in a submodule that is not at
// hand: without it the comparison would show as removed what is not.
func lacking(p *repo.Platform, e end, tree *revision.Tree) error {
	if tree == nil || len(tree.Missing) == 0 {
		return nil
	}
	prefix, err := filepath.Rel(tree.Top, p.Root)
	if err != nil {
		return fmt.Errorf("find the platform in %s: %w", e.name, err)
	}
	for _, c := range p.Components {
		for _, file := range files(c) {
			file = path.Join(filepath.ToSlash(prefix), file)
			for _, m := range tree.Missing {
				if file == m.Path || strings.HasPrefix(file, m.Path+"/") {
					return &repo.InputError{
						Position: c.Position,
						Message:  fmt.Sprintf("revision %s: component %s comes from the submodule %s, whose commit %s is not at hand", e.name, c.Name, m.Path, m.Commit[:min(len(m.Commit), 12)]),
						Hint:     "git submodule update --init " + m.Path,
					}
				}
			}
		}
	}
	return nil
}

// files are the paths that a component is made from.
func files(c model.Component) []string {
	out := []string{c.Position.File}
	for _, s := range c.Sources {
		if s.Kind == model.Git {
			continue // its files are in another repository
		}
		if s.Path != "" {
			out = append(out, s.Path)
		}
		for _, f := range s.ValueFiles {
			out = append(out, f.Path)
		}
	}
	return out
}
