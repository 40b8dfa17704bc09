package cli

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
)

// TestInterruptedCommandsEnd: a command that does not look whether it should go on ends
// too, and one that ends by itself says how.
func TestInterruptedCommandsEnd(t *testing.T) {
	forever, saved := make(chan struct{}), errors.New("saved")
	defer close(forever)
	for name, test := range map[string]struct {
		run  func(cmd *cobra.Command) error
		want exit.Code
	}{
		"deaf":    {func(*cobra.Command) error { <-forever; return nil }, exit.Interrupted},
		"listens": {func(cmd *cobra.Command) error { <-cmd.Context().Done(); return exit.With(exit.No, saved) }, exit.No},
		"ended":   {func(*cobra.Command) error { return exit.With(exit.Usage, saved) }, exit.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			patience := time.Millisecond
			if name != "deaf" {
				patience = time.Hour
			}
			sub := &cobra.Command{Use: "sub", RunE: func(cmd *cobra.Command, _ []string) error {
				if name != "ended" {
					cancel()
				}
				return test.run(cmd)
			}}
			root := &cobra.Command{Use: "root", SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(sub)
			promptly(patience, root)
			root.SetArgs([]string{"sub"})
			if code := exit.Of(root.ExecuteContext(ctx)); code != test.want {
				t.Errorf("ends with %d, want %d", code, test.want)
			}
		})
	}
}
