package lintcmd

import (
	"bytes"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/patch"
)

// changes are those of all mechanical fixes together. What cannot be done is said
// on stderr.
func (j *judgement) changes(streams *stream.Streams, o *Options) []patch.Change {
	var groups [][]finding.Edit
	var of []finding.Finding
	for _, f := range j.findings {
		if len(f.Fix.Edits) > 0 && (o.FixOrder || !f.Fix.Moves) {
			groups, of = append(groups, f.Fix.Edits), append(of, f)
		}
	}
	changes, refused := patch.Combine(j.reader(), groups)
	for i, err := range refused {
		if err != nil {
			fmt.Fprintf(streams.Err, "not fixed: %s: %s: %s\n",
				report.Plain(of[i].Position.String()), of[i].Rule, report.Plain(err.Error()))
		}
	}
	return changes
}

// preview prints the changes as a diff.
func (j *judgement) preview(streams *stream.Streams, o *Options) error {
	var b bytes.Buffer
	for _, c := range j.changes(streams, o) {
		b.WriteString(c.Diff())
	}
	if b.Len() == 0 {
		fmt.Fprintln(streams.Err, "there is nothing to fix mechanically")
	}
	return streams.WriteResult(o.Output, b.Bytes())
}

// fix changes the files and reports whether any changed.
func (j *judgement) fix(streams *stream.Streams, o *Options) (bool, error) {
	changes := j.changes(streams, o)
	resolve := func(file string) (string, error) { return j.tree.Resolve(file, finding.Position{}) }
	if err := patch.Write(changes, resolve); err != nil {
		return false, exit.With(exit.CouldNotRun, err)
	}
	for _, c := range changes {
		fmt.Fprintln(streams.Err, "fixed "+report.Plain(c.File))
	}
	return len(changes) > 0, nil
}
