package rehearse

import (
	"fmt"
	"time"
)

// silenceLimit is how long the plane may answer nothing.
const silenceLimit = 30 * time.Second

// PlaneSilentError says that the control plane's process lives and answers
// nothing any more: it was stopped, or the machine has no time left for it.
type PlaneSilentError struct {
	PID    int
	Server string
	// For is how long there has been no answer.
	For time.Duration
	// Kept is set when the plane stays: the rollout can be resumed on it.
	Kept bool
}

// Error implements error.
func (e *PlaneSilentError) Error() string {
	message := fmt.Sprintf("the control plane stopped answering in the middle of the rollout: nothing came from %s for %s, though its process %d lives; no component is to blame",
		e.Server, e.For.Round(time.Second), e.PID)
	if e.Kept {
		message += " (when it answers again, go on with --resume)"
	}
	return message
}
