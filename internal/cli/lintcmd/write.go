package lintcmd

import (
	"bytes"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// write prints the report in its format.
func (j *judgement) write(streams *stream.Streams, global *flags.Global, o *Options) error {
	l := j.document(o)
	var b bytes.Buffer
	var err error
	switch o.Format {
	case "json":
		err = report.JSON(&b, report.FindingsDocument(l))
	case "sarif":
		err = report.SARIF(&b, l)
	case "github":
		err = report.GitHub(&b, l)
	case "markdown":
		err = report.LintMarkdown(&b, l)
	default:
		toFile := o.Output != "" && o.Output != "-"
		err = report.LintText(&b, l, report.Style{Color: streams.Color(streams.OutTerminal && !toFile)}, global.Verbose)
	}
	if err != nil {
		return err
	}
	if o.Format == "github" {
		return streams.WriteCommands(o.Output, b.Bytes())
	}
	return streams.WriteFormat(o.Format, o.Output, b.Bytes())
}
