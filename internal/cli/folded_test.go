package cli_test

import (
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/creack/pty"

	"github.com/rollout-ladder/ladder/internal/cli"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// TestFoldedOnTerminals: on a terminal no line of what people read is wider than it, unless
// it is one word or a command to copy.
func TestFoldedOnTerminals(t *testing.T) {
	for _, args := range []string{
		"lint ../../examples/wrong-order",
		"plan ../../examples/wrong-order",
		"inventory ../../examples/ameide -e dev",
		"explain",
		"explain web ../../examples/wrong-order",
		"diff env:dev env:prod ../../examples/ameide --offline",
		"catalogue list",
		"import argocd ../../examples/wrong-order --out OUT --dry-run",
		"import argocd --out OUT ../../there/is/no/such/folder/for/an/import/to/read",
		"rehearse --help",
		"explain --unknown-flag-of-a-command",
		"nothing-that-is-a-command",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			const width = 60
			words := strings.Fields(strings.ReplaceAll(args, "OUT", t.TempDir()))
			text := onTerminal(t, width, append(words, "--progress", "none")...)
			for line := range strings.Lines(text) {
				line = strings.TrimRight(line, "\r\n")
				rest := strings.TrimLeft(line, " ")
				if utf8.RuneCountInString(line) > width && strings.Contains(rest, " ") && !strings.HasPrefix(rest, "ladder ") {
					t.Errorf("wider than the terminal: %s", line)
				}
			}
			if strings.Count(text, "\n") < 2 {
				t.Errorf("too little to judge by: %q", text)
			}
		})
	}
}

// onTerminal is what the command writes to a terminal.
func onTerminal(t *testing.T, width uint16, args ...string) string {
	t.Helper()
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = master.Close() }()
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: width}); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // the end of a terminal is an error
		read <- string(text)
	}()
	env := func(name string) string {
		if name == "NO_COLOR" {
			return "1"
		}
		return os.Getenv(name)
	}
	cli.Main("ladder", args, "test", &stream.Streams{
		In: strings.NewReader(""), Out: terminal, Err: terminal, Getenv: env, OutTerminal: true, ErrTerminal: true,
	})
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	return <-read
}
