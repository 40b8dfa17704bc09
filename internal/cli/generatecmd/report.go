package generatecmd

import (
	"bytes"
	"fmt"
	"path"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// document is what --format json prints.
type document struct {
	FormatVersion string        `json:"formatVersion"`
	Environments  []environment `json:"environments"`
}

type environment struct {
	Environment string   `json:"environment"`
	Layout      string   `json:"layout"`
	Root        string   `json:"root"`
	Files       []file   `json:"files"`
	Warnings    []warned `json:"warnings"`
}

type file struct {
	Path string `json:"path"`
	// State is current, missing, stale or surplus: before the command wrote.
	State string `json:"state"`
	Diff  string `json:"diff,omitempty"`
}

type warned struct {
	Message string `json:"message"`
	File    string `json:"file"`
	Line    int    `json:"line"`
}

// report prints what was done, or with --check what would be.
func (o *Options) report(streams *stream.Streams, made []*generated) error {
	var b bytes.Buffer
	isStale := false
	doc := document{FormatVersion: report.FormatVersion, Environments: []environment{}}
	for _, g := range made {
		isStale = isStale || g.isStale()
		doc.Environments = append(doc.Environments, o.describe(g))
		if o.Format == "text" {
			o.text(&b, g)
		}
	}
	if o.Format == "json" {
		if err := report.JSON(&b, doc); err != nil {
			return err
		}
	}
	format := o.Format
	if o.Check { // with differences of files
		format = "patch"
	}
	if err := streams.WriteFormat(format, o.Output, b.Bytes()); err != nil {
		return err
	}
	if o.Check && isStale {
		fmt.Fprintln(streams.Err, "stale; write the files anew with the same command without --check")
		return exit.Silent(exit.No)
	}
	return nil
}

func (o *Options) describe(g *generated) environment {
	e := environment{
		Environment: g.environment, Layout: g.layout, Root: path.Join(g.named, path.Base(g.result.Root)), Files: []file{}, Warnings: []warned{},
	}
	for _, c := range g.changes {
		f := file{Path: path.Join(g.named, c.path), State: c.state}
		if o.Check {
			f.Diff = g.diff(c, g.named)
		}
		e.Files = append(e.Files, f)
	}
	for _, w := range g.result.Warnings {
		e.Warnings = append(e.Warnings, warned{finding.Redact(w.Message), w.Position.File, w.Position.Line})
	}
	return e
}

// text prints the files that change, and with --check how.
func (o *Options) text(b *bytes.Buffer, g *generated) {
	verbs := map[string]string{missing: "written", stale: "changed", surplus: "removed"}
	if o.Check {
		verbs = map[string]string{missing: "missing", stale: "stale", surplus: "surplus"}
	}
	same := 0
	for _, c := range g.changes {
		if c.state == current {
			same++
			continue
		}
		fmt.Fprintf(b, "%-8s %s\n", verbs[c.state], path.Join(g.shown, c.path))
	}
	if o.Check {
		for _, c := range g.changes {
			b.WriteString(g.diff(c, g.shown))
		}
	}
	fmt.Fprintf(b, "%s: layout %s, %s, %d of them unchanged; apply %s\n",
		g.environment, g.layout, finding.Count(len(g.result.Files), "file"), same, path.Join(g.shown, path.Base(g.result.Root)))
}
