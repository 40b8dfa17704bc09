package lintcmd

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/source"
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
	way := source.Way(o.Path)
	said := map[finding.ByHand]bool{}
	for _, f := range j.findings {
		if by := f.Fix.ByHand; o.FixOrder && by != nil && !said[*by] {
			said[*by] = true
			fmt.Fprintf(streams.Err, "not fixed: %s: %s: %s\n", report.Plain(by.Position.Below(way).String()), f.Rule, report.Plain(by.Text))
		}
	}
	changes, refused := patch.Combine(j.reader(), groups)
	for i, err := range refused {
		if err != nil {
			fmt.Fprintf(streams.Err, "not fixed: %s: %s: %s\n",
				report.Plain(of[i].Position.Below(way).String()), of[i].Rule, report.Plain(err.Error()))
		}
	}
	return changes
}

// preview prints the changes as a diff.
func (j *judgement) preview(streams *stream.Streams, o *Options) error {
	var b bytes.Buffer
	way := source.Way(o.Path)
	for _, c := range j.changes(streams, o) {
		if filepath.IsLocal(way) { // patch -p1 takes no path that leads upwards
			c.File = path.Join(way, c.File)
		}
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
		fmt.Fprintln(streams.Err, "fixed "+report.Plain(finding.Position{File: c.File}.Below(source.Way(o.Path)).String()))
	}
	return len(changes) > 0, nil
}
