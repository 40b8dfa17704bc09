// Package outcome writes the report of a rollout, rehearsed or real, and turns its
// result into an exit code.
package outcome

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// To says where a report goes.
type To struct {
	// Report is a file that gets it as JSON beside the output; empty for none.
	Report string
	// Format of the output is json, markdown or text; Output is its file, empty for
	// the standard output.
	Format, Output string
	// Path is that of the platform: what people read has positions that open from where the
	// command runs.
	Path string
}

// OnTerminal reports whether people get the report on the terminal.
func (to To) OnTerminal(streams *stream.Streams) bool {
	return to.Format == "text" && to.Output == "" && streams.OutTerminal
}

// Write writes a report.
func (to To) Write(streams *stream.Streams, r report.Rollout) error {
	if to.Report != "" {
		var b bytes.Buffer
		if err := report.JSON(&b, r); err != nil {
			return err
		}
		if err := streams.WriteResult(to.Report, b.Bytes()); err != nil {
			return exit.With(exit.CouldNotRun, err)
		}
	}
	var b bytes.Buffer
	var err error
	below := r.Below(source.Way(to.Path))
	switch to.Format {
	case "json":
		err = report.JSON(&b, r)
	case "markdown":
		err = report.RolloutMarkdown(&b, below)
	default:
		style := report.Style{Color: to.Output == "" && streams.Color(streams.OutTerminal)}
		if to.OnTerminal(streams) {
			style.Width = streams.Width()
		}
		err = report.RolloutText(&b, below, style)
	}
	if err != nil {
		return err
	}
	if err := streams.WriteResult(to.Output, b.Bytes()); err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	summarise(streams, below)
	return nil
}

// summarise appends the report to the summary page of a GitHub Actions job.
// Source: GitHub Actions, "Adding a job summary".
func summarise(streams *stream.Streams, r report.Rollout) {
	file := streams.Getenv("GITHUB_STEP_SUMMARY")
	if file == "" {
		return
	}
	var b bytes.Buffer
	err := report.RolloutMarkdown(&b, r)
	if err == nil {
		err = appendTo(file, stream.Safe(b.Bytes()))
	}
	if err != nil {
		fmt.Fprintf(streams.Err, "ladder: the job summary is not written: %v\n", err)
	}
}

func appendTo(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Verdict is nil for a rollout that succeeded, and otherwise an error with the exit
// code of its end that prints nothing: the report has said it.
func Verdict(r report.Rollout, interrupted bool) error {
	switch {
	case interrupted:
		return exit.Silent(exit.Interrupted)
	case r.Result == string(rollout.Succeeded):
		return nil
	case r.Result == string(rollout.ResultTimedOut):
		return exit.Silent(exit.TimedOut)
	default:
		return exit.Silent(exit.No)
	}
}
