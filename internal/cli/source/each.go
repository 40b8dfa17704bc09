package source

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// Register adds the flags that say what is read to a command.
func Register(cmd *cobra.Command, f *flags.Source) {
	f.Register(cmd)
	CompleteEnvironment(cmd)
}

// RegisterEach is Register for a command that takes -e all and --context.
func RegisterEach(cmd *cobra.Command, f *flags.Source) {
	Register(cmd, f)
	Asks(cmd, f)
	TakesAll(cmd)
}

// TakesAll says in the help that a command takes -e all.
func TakesAll(cmd *cobra.Command) {
	cmd.Flags().Lookup("environment").Usage = "environment to read, or all (default: the only one, else dev)"
}

// LoadEach loads every environment with -e all, else one, as Load does.
func LoadEach(ctx context.Context, streams *stream.Streams, global *flags.Global, f flags.Source) ([]*analysis.Result, error) {
	return loadEach(ctx, streams, global, f, KeysOnly(f))
}

// LoadLocal loads like LoadEach, and leaves what is not in the repository unrendered.
func LoadLocal(ctx context.Context, streams *stream.Streams, global *flags.Global, f flags.Source) ([]*analysis.Result, error) {
	options := KeysOnly(f)
	options.LocalCharts = true
	return loadEach(ctx, streams, global, f, options)
}

func loadEach(ctx context.Context, streams *stream.Streams, global *flags.Global, f flags.Source, options analysis.Options) ([]*analysis.Result, error) {
	display := progress.New(streams, global, time.Now)
	defer display.Close()
	options.Progress = display.Counted
	if f.Environment != flags.All {
		one, err := analysis.Load(ctx, f.Path, options)
		return []*analysis.Result{one}, Coded(Placed(err, f.Path))
	}
	options.Environment = ""
	all, err := analysis.LoadAll(ctx, f.Path, options)
	return all, Coded(Placed(err, f.Path))
}

// Chosen are the environments that are named: with -e all every one, else the one that
// the name says, which may be empty.
func Chosen(ctx context.Context, f flags.Source) ([]string, error) {
	if f.Environment != flags.All {
		return []string{f.Environment}, nil
	}
	options := KeysOnly(f)
	options.Environment = ""
	platform, err := analysis.Look(ctx, f.Path, options)
	if err != nil {
		return nil, Coded(Placed(err, f.Path))
	}
	defer platform.Close()
	return platform.Environments(), nil
}

// Part is what a command prints of one environment.
type Part struct {
	Environment string
	Content     []byte
}

// CheckAll refuses -e all in a format of which several cannot be one document.
func CheckAll(f flags.Source, format string) error {
	switch format {
	case "text", "markdown", "yaml", "json":
		return nil
	}
	if f.Environment != flags.All {
		return nil
	}
	return exit.With(exit.Usage, fmt.Errorf("--format %s is of one environment: name it with -e", format))
}

// Join is the document of one environment, or with -e all of several: JSON has a list
// of their documents, other formats have one after the other.
func Join(f flags.Source, format string, parts []Part) ([]byte, error) {
	var b bytes.Buffer
	if f.Environment != flags.All {
		for _, p := range parts {
			b.Write(p.Content)
		}
		return b.Bytes(), nil
	}
	if format == "json" {
		document := struct {
			FormatVersion string            `json:"formatVersion"`
			Environments  []json.RawMessage `json:"environments"`
		}{report.FormatVersion, []json.RawMessage{}}
		for _, p := range parts {
			document.Environments = append(document.Environments, p.Content)
		}
		err := report.JSON(&b, document)
		return b.Bytes(), err
	}
	for i, p := range parts {
		if i > 0 && format != "yaml" {
			b.WriteByte('\n')
		}
		switch format {
		case "text":
			fmt.Fprintf(&b, "== %s ==\n\n", p.Environment)
		case "yaml":
			fmt.Fprintf(&b, "# environment %s\n", report.Plain(p.Environment))
		}
		b.Write(p.Content)
	}
	return b.Bytes(), nil
}
