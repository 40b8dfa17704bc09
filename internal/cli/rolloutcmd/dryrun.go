package rolloutcmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// changes is the JSON of --dry-run.
type changes struct {
	FormatVersion string            `json:"formatVersion"`
	Components    []componentChange `json:"components"`
	// Removals are in the order in which they would be removed.
	Removals []string       `json:"removals"`
	Summary  map[string]int `json:"summary"`
}

type componentChange struct {
	Name    string         `json:"name"`
	Phase   string         `json:"phase"`
	Objects []objectChange `json:"objects"`
}

type objectChange struct {
	Action  string   `json:"action"`
	Object  string   `json:"object"`
	Fields  []string `json:"fields"`
	Message string   `json:"message,omitempty"`
	Refused bool     `json:"refused,omitempty"`
}

func dryRun(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options, options session.ClusterOptions) error {
	if o.Format == "markdown" {
		return exit.Usagef("--dry-run prints text or json")
	}
	display := progress.New(streams, global, time.Now)
	defer display.Close()
	options.Observer = display
	previews, removals, loaded, err := session.DryRun(ctx, options)
	display.Close()
	if err != nil {
		return coded(source.Placed(err, o.Path))
	}
	source.PrintFindings(streams.Err, o.Source, loaded.Findings, source.Least(global))
	doc := document(previews, removals)
	var b bytes.Buffer
	if o.Format == "json" {
		err = report.JSON(&b, doc)
	} else {
		printChanges(&b, doc)
	}
	if err != nil {
		return err
	}
	if err := streams.WriteFormat(o.Format, o.Output, b.Bytes()); err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	if doc.Summary["refused"] > 0 {
		return exit.Silent(exit.No)
	}
	return nil
}

func document(previews []session.Preview, removals []string) changes {
	doc := changes{FormatVersion: report.FormatVersion, Components: []componentChange{}, Removals: append([]string{}, removals...), Summary: map[string]int{}}
	for _, p := range previews {
		c := componentChange{Name: p.Component, Phase: p.Phase, Objects: []objectChange{}}
		for _, d := range p.Differences {
			c.Objects = append(c.Objects, objectChange{
				Action: d.Action, Object: d.Object.String(), Fields: append([]string{}, d.Fields...), Message: d.Message, Refused: d.Refused,
			})
			doc.Summary[d.Action]++
			if d.Refused {
				doc.Summary["refused"]++
			}
		}
		doc.Components = append(doc.Components, c)
	}
	return doc
}

// printChanges writes what changes, in order; what stays as it is is counted.
func printChanges(w io.Writer, doc changes) {
	glyphs := map[string]string{"create": "+", "change": "~", "delete": "-", "run": ">"}
	same := 0
	for _, c := range doc.Components {
		var lines []string
		for _, o := range c.Objects {
			if o.Action == "keep" {
				continue
			}
			line := fmt.Sprintf("  %s %s", glyphs[o.Action], o.Object)
			if len(o.Fields) > 0 {
				line += "  " + strings.Join(o.Fields, ", ")
			}
			if o.Message != "" {
				line += "  (" + report.Plain(o.Message) + ")"
			}
			if o.Refused {
				line += "  REFUSED"
			}
			lines = append(lines, line)
		}
		if len(lines) == 0 {
			same++
			continue
		}
		fmt.Fprintf(w, "%s %s\n%s\n", c.Phase, c.Name, strings.Join(lines, "\n"))
	}
	for _, name := range doc.Removals {
		fmt.Fprintf(w, "- component %s, which the repository lacks\n", name)
	}
	s := doc.Summary
	fmt.Fprintln(w, summary(s, same, len(doc.Components)))
	if s["refused"] > 0 {
		fmt.Fprintf(w, "the API server refuses %s\n", finding.Count(s["refused"], "object"))
	}
}

// summary says in one line what a rollout would do with so many objects.
func summary(s map[string]int, same, components int) string {
	verb := func(n int, one, several string) string {
		if n == 1 {
			return one
		}
		return several
	}
	return fmt.Sprintf("%s %s created, %d changed, %d deleted, %s %s, %d %s; %d of %s stay as they are; nothing was changed",
		finding.Count(s["create"], "object"), verb(s["create"], "is", "are"), s["change"], s["delete"], finding.Count(s["run"], "hook"), verb(s["run"], "runs", "run"),
		s["keep"], verb(s["keep"], "stays", "stay"), same, finding.Count(components, "component"))
}
