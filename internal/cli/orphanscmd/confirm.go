package orphanscmd

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// confirmed reads a line, which must be the number of objects.
func confirmed(in io.Reader, count int) bool {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && line == "" {
		return false
	}
	return strings.TrimSpace(line) == strconv.Itoa(count)
}

// told counts what is gone, and says so.
func told(streams *stream.Streams, global *flags.Global, deleted *int) func(finding.Resource) {
	return func(r finding.Resource) {
		*deleted++
		if !global.Quiet {
			fmt.Fprintf(streams.Err, "deleted %s\n", report.Plain(r.Human()))
		}
	}
}
