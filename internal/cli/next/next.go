// Package next tells people at a terminal what they may do after a command.
package next

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// Step is a command that may come next.
type Step struct {
	// Words are those after "ladder", without the path and the environment.
	Words []string
	// Name is the argument after them that a repository wrote; it may be empty.
	Name string
	// Why says what the command shows or does.
	Why string
}

// Tell writes the steps to stderr, as commands for the platform of a command. It
// writes nothing where no person reads the result on a terminal, and leaves out what
// would not do what it says: a name with control codes or like a flag, which quotes do
// not help against, and a rehearsal of all environments.
func Tell(streams *stream.Streams, global *flags.Global, from flags.Source, to flags.Result, steps ...Step) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s Step) bool {
		line := s.line(from)
		return !stream.IsSafe(line) || strings.HasPrefix(s.Name, "-") || strings.Contains(line, "\n") || s.Words[0] == "rehearse" && (from.Environment == flags.All || from.Hub != "")
	})
	if global.Quiet || !streams.OutTerminal || !streams.ErrTerminal || to.Output != "" || len(steps) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("\nWhat next:\n")
	commands, reasons, width := 0, 0, streams.Width()
	for _, s := range steps {
		commands, reasons = max(commands, utf8.RuneCountInString(s.line(from))), max(reasons, utf8.RuneCountInString(s.Why))
	}
	for _, s := range steps {
		line := s.line(from)
		if 2+commands+2+reasons > width { // a command stays in one line, for people to copy
			b.WriteString("  " + line + "\n" + report.Fold("    "+s.Why, width) + "\n")
			continue
		}
		fmt.Fprintf(&b, "  %s%s  %s\n", line, strings.Repeat(" ", commands-utf8.RuneCountInString(line)), s.Why)
	}
	_, _ = streams.Whole().Write([]byte(b.String()))
}

// line is the command as it is typed.
func (s Step) line(from flags.Source) string {
	words := append([]string{"ladder"}, s.Words...)
	if s.Name != "" {
		words = append(words, s.Name)
	}
	if from.Path != "." {
		words = append(words, from.Path)
	}
	if from.Environment != "" {
		words = append(words, "-e", from.Environment)
	}
	for _, root := range from.Roots {
		words = append(words, "--root", root)
	}
	if from.Offline {
		words = append(words, "--offline")
	}
	for _, host := range from.AllowHosts {
		words = append(words, "--allow-host", host)
	}
	if from.KubeVersion != "" {
		words = append(words, "--kube-version", from.KubeVersion)
	}
	for _, version := range from.APIVersions {
		words = append(words, "--api-versions", version)
	}
	if from.Hub != "" {
		words = append(words, "--context", from.Hub)
	}
	for i, w := range words {
		words[i] = quoted(w)
	}
	return strings.Join(words, " ")
}

var plain = lazyregexp.New(`^[A-Za-z0-9._/:@,+][A-Za-z0-9._/:@=,+-]*$|^--?[a-z][a-z-]*$`)

// quoted is a word for a shell. Names come from repositories, and people copy what they
// read.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
