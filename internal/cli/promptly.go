package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
)

// grace is how long a command that reads a repository has after an interruption.
const grace = 5 * time.Second

// promptly ends commands soon after they are interrupted, whatever they are at: a
// repository may have something that takes for ever to look at, and not all that looks at
// it asks whether it should go on. Nothing of what such a command does has to be ended in
// an order.
func promptly(grace time.Duration, commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		promptly(grace, cmd.Commands()...)
		run := cmd.RunE
		if run == nil {
			continue
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			ended := make(chan error, 1)
			go func() { ended <- run(cmd, args) }()
			select {
			case err := <-ended:
				return err
			case <-cmd.Context().Done():
			}
			select {
			case err := <-ended:
				return err
			case <-time.After(grace):
				return exit.With(exit.Interrupted, cmd.Context().Err())
			}
		}
	}
	return commands
}
