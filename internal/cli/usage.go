package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
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

// unknownFlag proposes the flag that a misspelt one was meant for, or what does here
// what one of another tool does there.
func unknownFlag(cmd *cobra.Command, err error) error {
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
	return exit.Usagef("%s takes %s, and %s%s\nRun '%s --help' for usage", path, cmp.Or(takes, "no arguments"), given, hint, path)
}
