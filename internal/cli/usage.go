package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// groups are the titles that the help lists commands under, each with its commands.
func groups() []struct{ title, commands string } {
	return []struct{ title, commands string }{
		{"Prove the order:", "lint explain diff render"},
		{"Plan it:", "plan inventory generate"},
		{"Run it:", "rehearse rollout bootstrap smoke plane"},
		{"Steer a rollout, and look back:", "status watch pause resume approve retry abort history orphans"},
		{"Begin, or come from elsewhere:", "init new import snapshot catalogue"},
	}
}

// group sorts the commands of the root into groups.
func group(root *cobra.Command) {
	of := map[string]string{}
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, name := range strings.Fields(g.commands) {
			of[name] = g.title
		}
	}
	for _, cmd := range root.Commands() {
		cmd.GroupID = of[cmd.Name()]
	}
}

// folded is a help that is folded on a terminal, but for the examples, which people copy.
func folded(streams *stream.Streams, help func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		var b bytes.Buffer
		out := cmd.OutOrStdout()
		cmd.SetOut(&b)
		help(cmd, args)
		cmd.SetOut(out)
		text := b.String()
		if streams.OutTerminal {
			rest, _ := strings.CutPrefix(text, cmd.Long)
			before, after, found := strings.Cut(rest, cmd.Example)
			width := streams.Width()
			text = report.Reflow(text[:len(text)-len(rest)], width) + report.Fold(before, width)
			if found {
				text += cmd.Example + report.Fold(after, width)
			}
		}
		_, _ = io.WriteString(out, text) // nobody is left to be told
	}
}

// unknownFlag proposes the flag that a misspelt one was meant for, or what does here
// what one of another tool does there.
func unknownFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && kinds[invalid.GetFlag().Value.Type()] != "" {
		return exit.Usagef("--%s takes %s, not %q", invalid.GetFlag().Name, kinds[invalid.GetFlag().Value.Type()], invalid.GetValue())
	}
	var bare *pflag.ValueRequiredError
	if errors.As(err, &bare) {
		return exit.Usagef("--%s takes a value: %s", bare.GetFlag().Name, usageOf(bare.GetFlag()))
	}
	hint := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		if meant := yamldoc.Meant("--"+unknown.GetSpecifiedName(), names); meant != "" {
			hint = "; " + meant
		}
	}
	if unknown != nil {
		if instead := otherTools[cmd.Name()+" "+unknown.GetSpecifiedName()]; instead != "" {
			hint = "; " + instead
		}
	}
	return exit.Usagef("%w%s\nRun '%s --help' for usage", err, hint, cmd.CommandPath())
}

// kinds are what flags take, by the type of their value.
var kinds = map[string]string{
	"int": "a whole number", "int64": "a whole number", "float64": "a number", "bool": "true or false", "duration": "a duration, such as 90s or 5m",
}

// wrongFlags says which flags a command needs that are not given, or which of those that
// are exclude each other. Any other error stays.
func wrongFlags(cmd *cobra.Command, err error) error {
	var said []string
	seen := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed {
			said = append(said, fmt.Sprintf("%s needs %s: %s", cmd.CommandPath(), written(f), strings.TrimSuffix(usageOf(f), " (required)")))
		}
		// Source: github.com/spf13/cobra, flag_groups.go.
		for _, group := range f.Annotations["cobra_annotation_mutually_exclusive"] {
			var given []string
			for _, name := range strings.Fields(group) {
				if cmd.Flags().Changed(name) {
					given = append(given, "--"+name)
				}
			}
			if len(given) > 1 && !seen[group] {
				said = append(said, strings.Join(given, " and ")+" exclude each other: give one of them")
			}
			seen[group] = true
		}
		for _, group := range f.Annotations["cobra_annotation_required_if_others_set"] {
			var given, lacking []string
			for _, name := range strings.Fields(group) {
				if cmd.Flags().Changed(name) {
					given = append(given, "--"+name)
				} else {
					lacking = append(lacking, written(cmd.Flags().Lookup(name)))
				}
			}
			if len(given) > 0 && len(lacking) > 0 && !seen[group] {
				said = append(said, fmt.Sprintf("%s needs %s, too", strings.Join(given, " and "), strings.Join(lacking, " and ")))
			}
			seen[group] = true
		}
	})
	if len(said) == 0 {
		return err
	}
	return fmt.Errorf("%s\nRun '%s --help' for usage", strings.Join(said, "\n"), cmd.CommandPath())
}

// written is a flag as it is typed.
func written(f *pflag.Flag) string {
	name, _ := pflag.UnquoteUsage(f)
	switch {
	case f.Annotations[cobra.BashCompFilenameExt] != nil:
		name = "file"
	case f.Annotations[cobra.BashCompSubdirsInDir] != nil:
		name = "dir"
	case name == "string":
		name = "value"
	}
	return strings.TrimSpace("--" + f.Name + " " + strings.ToUpper(name))
}

func usageOf(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	return usage
}

// usageErrors gives wrong arguments the exit code of wrong usage and words for it, in
// every command.
func usageErrors(cmd *cobra.Command) {
	check := cmd.Args
	switch {
	case cmd.HasSubCommands():
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		}
		if !cmd.Runnable() {
			cmd.DisableFlagsInUseLine = true
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	case check != nil:
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check(cmd, args) == nil {
				return nil
			}
			return wrongArguments(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		usageErrors(sub)
	}
}

// helpUsage has the help of what is no command say so, as the command itself does.
func helpUsage(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" {
			continue
		}
		cmd.Run = nil
		cmd.RunE = func(_ *cobra.Command, args []string) error {
			asked := root
			for _, name := range args {
				i := slices.IndexFunc(asked.Commands(), func(c *cobra.Command) bool { return c.Name() == name || c.HasAlias(name) })
				if i < 0 {
					return unknownCommand(asked, name)
				}
				asked = asked.Commands()[i]
			}
			asked.InitDefaultHelpFlag()
			return asked.Help()
		}
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	path := cmd.CommandPath()
	return exit.Usagef("%s has no command %q; %s", path, name, cmp.Or(yamldoc.Meant(name, names), "'"+path+" --help' lists them"))
}

// wrongArguments says which arguments a command takes.
func wrongArguments(cmd *cobra.Command, args []string) error {
	path := cmd.CommandPath()
	_, takes, _ := strings.Cut(strings.TrimSuffix(cmd.UseLine(), " [flags]"), path+" ")
	given := "none was given"
	switch n := len(args); {
	case n == 1:
		given = fmt.Sprintf("%q was given", args[0])
	case n > 1:
		given = fmt.Sprintf("%d arguments were given", n)
	}
	hint := ""
	if len(args) == 1 && len(cmd.ValidArgs) > 0 {
		if meant := yamldoc.Meant(args[0], cmd.ValidArgs); meant != "" {
			hint = "; " + meant
		}
	}
	typed := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if strings.Contains(typed, "[") {
		typed += " (what is in brackets may be left out)"
	}
	return exit.Usagef("%s takes %s, and %s%s\nType: %s", path, cmp.Or(takes, "no arguments"), given, hint, typed)
}
