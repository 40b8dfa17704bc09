package rehearsecmd

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/run/rehearse"
)

// resuming gives a rehearsal that goes on the flags of the one that was interrupted.
func resuming(cmd *cobra.Command, o *Options) error {
	if !o.Keep && o.Plane == "" || o.Engine == rehearse.EngineArgoCD {
		return nil // refused by parse
	}
	kept, found, err := rehearse.KeptOn(cmd.Context(), o.Plane)
	if errors.As(err, new(*plane.NotFoundError)) || err == nil && !found {
		return nil // the rehearsal says that there is nothing to go on with
	}
	if err != nil {
		return err
	}
	return takeOver(cmd, kept.Flags)
}

// takeOver sets the flags of an interrupted rehearsal where the command line has none.
// The speed must be the same: the timeouts of the rollout that is taken up were divided
// by it, and its times were told by that clock.
func takeOver(cmd *cobra.Command, words []string) error {
	f := cmd.LocalNonPersistentFlags()
	given := map[string]bool{}
	f.VisitAll(func(flag *pflag.Flag) { given[flag.Name] = flag.Changed })
	was := ""
	// A set of its own: to parse words forgets the arguments of the command.
	parser := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	parser.ParseErrorsAllowlist.UnknownFlags = true // those of every command are of one run
	parser.AddFlagSet(f)
	err := parser.ParseAll(words, func(flag *pflag.Flag, value string) error {
		if flag.Name == "speed" {
			was = value
		}
		if given[flag.Name] || flag.Name == "reason" && given["approve"] {
			return nil // a reason is that of the approvals beside it
		}
		return cmd.Flags().Set(flag.Name, value)
	})
	if err != nil {
		return err
	}
	if now := cmd.Flags().Lookup("speed").Value.String(); cmp.Or(now, skip) != cmp.Or(was, skip) {
		return exit.Usagef("--speed %s: the rehearsal that is to go on was started with --speed %s: leave --speed out, or begin anew with --fresh", now, cmp.Or(was, skip))
	}
	return nil
}
