package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// TestReference keeps docs/cli.md what the commands say of themselves.
func TestReference(t *testing.T) {
	root := NewRoot("ladder", "test", &stream.Streams{Getenv: func(string) string { return "" }})
	root.InitDefaultHelpCmd()
	var b strings.Builder
	b.WriteString("# Command line\n\nMade from the commands' own help by `make generate`.\n")
	reference(&b, root)
	file := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), b.String()); diff != "" {
		t.Errorf("docs/cli.md is stale, run make generate (-file +commands):\n%s", diff)
	}
}

func reference(b *strings.Builder, cmd *cobra.Command) {
	if cmd.Name() == "help" || cmd.Name() == "completion" || cmd.Hidden {
		return
	}
	if cmd.Runnable() {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n```\n%s\n```\n", cmd.CommandPath(), sentence(cmd), cmd.UseLine())
		if cmd.Example != "" {
			fmt.Fprintf(b, "\nExamples:\n\n```\n%s\n```\n", cmd.Example)
		}
		if own := cmd.LocalNonPersistentFlags(); own.HasAvailableFlags() {
			fmt.Fprintf(b, "\nFlags:\n\n```\n%s```\n", own.FlagUsages())
		}
		if !cmd.HasParent() {
			fmt.Fprintf(b, "\nFlags of every command:\n\n```\n%s```\n", cmd.PersistentFlags().FlagUsages())
		}
	}
	for _, sub := range cmd.Commands() {
		reference(b, sub)
	}
}

func sentence(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

// TestEveryCommandHelps: a command has a summary without a full stop and, where
// it runs, an example.
func TestEveryCommandHelps(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			return
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: summary %q", cmd.CommandPath(), cmd.Short)
		}
		if cmd.HasParent() && !cmd.HasSubCommands() && cmd.Runnable() && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(NewRoot("ladder", "test", &stream.Streams{Getenv: func(string) string { return "" }}))
}
