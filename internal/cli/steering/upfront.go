package steering

import (
	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
)

// UpFront is what the flags of a run approve before it starts.
type UpFront struct {
	// Approve are phases, labels of steps, or EveryStep.
	Approve []string
	// Reason is why they are approved; it may be empty.
	Reason string
}

// Register adds the flags to a command that runs a rollout.
func (u *UpFront) Register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&u.Approve, "approve", nil, "approve a step that starts by hand (maxUpdate 0), by its phase, or all of them: all; may be repeated")
	f.StringVar(&u.Reason, "reason", "", "with --approve: "+WhyApproved)
}

// CheckUpFront refuses a reason that is too long, or for no approval.
func (u *UpFront) CheckUpFront() error {
	if u.Reason != "" && len(u.Approve) == 0 {
		return exit.Usagef("--reason says why steps are approved: add --approve PHASE")
	}
	return CheckReason(u.Reason)
}

// WhyApproved describes the reason of an approval.
const WhyApproved = "why, for the report and the history"

// maxReason bounds what the state of a rollout keeps of an approval.
const maxReason = 500

// CheckReason refuses the reason of an approval that is too long.
func CheckReason(reason string) error {
	if len(reason) > maxReason {
		return exit.Usagef("--reason is longer than %d bytes; name a ticket that says it", maxReason)
	}
	return nil
}
