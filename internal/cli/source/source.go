// Package source loads the platform that a command is about and says on stderr
// what is wrong with it.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo"
)

// Options turns the flags of a command into those of load.
func Options(f flags.Source) analysis.Options {
	return analysis.Options{
		Environment: f.Environment, KubeVersion: f.KubeVersion, APIVersions: f.APIVersions,
		Offline: f.Offline, AllowHosts: f.AllowHosts, NoCache: f.NoCache,
		Roots: Roots(f), Known: f.Known, KnownOf: f.Hub,
	}
}

// KeysOnly are those of a command that uses no value of a Secret.
func KeysOnly(f flags.Source) analysis.Options {
	o := Options(f)
	o.SecretKeysOnly = true
	return o
}

// Coded gives an error of reading or planning its exit code: what the user can
// mend in the repository is unreadable input.
func Coded(err error) error {
	var coded *exit.Error
	switch {
	case err == nil, errors.As(err, &coded), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case len(repo.InputErrors(err)) > 0:
		return exit.With(exit.Usage, err)
	default:
		return exit.With(exit.CouldNotRun, err)
	}
}

// Open reads the components of a platform without rendering them, charts that make
// Applications aside.
func Open(ctx context.Context, f flags.Source) (*repo.Platform, error) {
	p, err := analysis.Open(ctx, f.Path, KeysOnly(f))
	return p, Coded(Placed(err, f.Path))
}

// Load reads, renders and infers a platform, without the values of Secrets, and shows how far it is.
func Load(ctx context.Context, streams *stream.Streams, global *flags.Global, f flags.Source) (*analysis.Result, error) {
	display := progress.New(streams, global, time.Now)
	defer display.Close()
	options := KeysOnly(f)
	options.Progress = display.Counted
	loaded, err := analysis.Load(ctx, f.Path, options)
	return loaded, Coded(Placed(err, f.Path))
}

// Said are findings that were printed of another environment.
type Said map[string]bool

// New are the findings that no environment before had in the same words at the same place.
func (s Said) New(findings []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f finding.Finding) bool {
		words := fmt.Sprintf("%s %s %s %s", f.Position, f.Severity, f.Rule, f.Message)
		before := s[words]
		s[words] = true
		return before
	})
}

// PrintFindings writes findings of at least a severity about the platform of a command,
// one line each, and returns the number of errors among them.
func PrintFindings(w io.Writer, f flags.Source, findings []finding.Finding, least finding.Severity) int {
	way := Way(f.Path)
	errorCount := 0
	for _, f := range findings {
		f = f.Redacted().Below(way)
		if f.Severity == finding.Error {
			errorCount++
		}
		if f.Severity.Rank() > least.Rank() {
			continue
		}
		fmt.Fprintf(w, "%s: %s: %s [%s]\n", f.Position, f.Severity, f.Message, f.Rule)
		if fix := f.WayOut(); fix != "" {
			fmt.Fprintf(w, "  fix: %s\n", fix)
		}
	}
	return errorCount
}

// Least is the minimum severity that is printed.
func Least(g *flags.Global) finding.Severity {
	switch {
	case g.Quiet:
		return finding.Error
	case g.Verbose:
		return finding.Info
	default:
		return finding.Warning
	}
}
