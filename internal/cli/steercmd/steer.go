// Package steercmd holds the commands that steer a rollout which another process
// runs: pause, resume, abort, approve and retry.
package steercmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/running"
	"github.com/rollout-ladder/ladder/internal/cli/steering"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/store/incluster"
)

// patience is how long a run may take to answer.
const patience = 20 * time.Second

type options struct {
	running.Flags
	yes    bool
	reason string
}

// verb is one of the commands.
type verb struct {
	action            incluster.Action
	use, short, about string
	args              cobra.PositionalArgs
	// effect says what the request would do.
	effect func(s running.Snapshot, target string) string
}

// example shows the command as a person and as a script would type it.
func (v verb) example() string {
	if v.action == incluster.Approve {
		return "  ladder approve 350\n  ladder approve 350 --reason \"OPS-12: owners have signed off\" --context production --yes"
	}
	line := "  ladder " + strings.NewReplacer("PHASE", "350", "[COMPONENT]", "platform-keycloak").Replace(v.use)
	return line + "\n" + line + " --context production --yes"
}

func verbs() []verb {
	return []verb{
		{incluster.Pause, "pause", "Start nothing more in a running rollout", "What is in flight goes on.", cobra.NoArgs, effectOfPause},
		{incluster.Resume, "resume", "Let a paused rollout go on", "A rollout that nobody runs goes on with: ladder rollout --resume.", cobra.NoArgs, effectOfResume},
		{incluster.Abort, "abort", "End a running rollout where it stands", "Syncs in flight are cancelled, what is applied stays. It can be taken up again with: ladder rollout --resume.", cobra.NoArgs, effectOfAbort},
		{incluster.Approve, "approve PHASE", "Approve a step that starts by hand", "Who approves it, when, and why (--reason) is in the report of the rollout and in its\nhistory.", cobra.ExactArgs(1), effectOfApprove},
		{incluster.Retry, "retry [COMPONENT]", "Give a failed component a fresh start", "Without COMPONENT all that failed in the running rollout start again.", cobra.MaximumNArgs(1), effectOfRetry},
	}
}

// New returns the commands.
func New(streams *stream.Streams, global *flags.Global) []*cobra.Command {
	var out []*cobra.Command
	for _, v := range verbs() {
		o := &options{}
		cmd := &cobra.Command{
			Use: v.use, Short: v.short,
			Long: strings.TrimSpace(v.short + ". " + v.about + `

It says what it would do and asks before it does it; --yes does not ask. The
process that runs the rollout takes the request and answers when it is saved.

Exit codes: 0 done; 1 refused, nobody runs the rollout, or not confirmed; 2 nobody is
at a terminal to confirm it, and --yes is not given; 3 the cluster or the run does
not answer.`),
			Example: v.example(),
			Args:    v.args,
			RunE: func(cmd *cobra.Command, args []string) error {
				return run(cmd.Context(), streams, global, o, v, strings.Join(args, ""))
			},
		}
		o.Register(cmd)
		if v.action == incluster.Approve {
			cmd.Flags().StringVar(&o.reason, "reason", "", steering.WhyApproved)
		}
		cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
		out = append(out, cmd)
	}
	return out
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *options, v verb, target string) error {
	if err := steering.CheckReason(o.reason); err != nil {
		return err
	}
	found, err := o.Find(ctx)
	if err != nil {
		return err
	}
	s, err := found.Read(ctx)
	if err != nil {
		return err
	}
	switch {
	case s.Run.Holder.PID == 0 || !s.Run.Alive:
		return exit.With(exit.No, fmt.Errorf("nobody runs the rollout %s, so there is nobody to ask; go on with it: %s", found.Key, s.Resuming()))
	case s.Rehearsal != nil:
		return exit.With(exit.No, fmt.Errorf("the rehearsal of %s on plane %s is steered by the keys of the terminal that it runs on: %s", found.Key, s.Rehearsal.Plane, s.Run.Holder))
	}
	effect := v.effect(s, target)
	if !o.yes {
		if err := confirm(streams, found.Key, string(v.action), effect); err != nil {
			return err
		}
	} else if !global.Quiet {
		fmt.Fprintf(streams.Err, "%s %s: %s\n", v.action, found.Key, effect)
	}
	answer, err := found.Cluster.Ask(ctx, found.Key, incluster.Request{Action: v.action, Target: target, By: steering.Person(), Reason: o.reason}, patience)
	if err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	if answer.Refused {
		return exit.With(exit.No, errors.New(answer.Message))
	}
	if !global.Quiet {
		fmt.Fprintln(streams.Out, answer.Message)
	}
	return nil
}

// confirm asks on a terminal; elsewhere --yes is needed.
func confirm(streams *stream.Streams, key incluster.Key, action, effect string) error {
	in, isFile := streams.In.(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		return exit.With(exit.Usage, fmt.Errorf("%s %s: %s; nobody is at a terminal to confirm that: add --yes", action, key, effect))
	}
	fmt.Fprintf(streams.Err, "%s %s: %s. Go on? [y/N] ", action, key, effect)
	line, err := bufio.NewReader(in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err == nil && (answer == "y" || answer == "yes") {
		return nil
	}
	return exit.With(exit.No, errors.New("nothing was done"))
}

// counts are how many components are in flight, wait, and are done.
func counts(s running.Snapshot) (inFlight, waiting, done int) {
	for _, c := range s.State.Components {
		switch {
		case c.Status.InFlight(), c.Status == rollout.Retrying:
			inFlight++
		case c.Status == rollout.Blocked:
			waiting++
		case c.Status == rollout.Done:
			done++
		}
	}
	return inFlight, waiting, done
}

func effectOfPause(s running.Snapshot, _ string) string {
	inFlight, waiting, _ := counts(s)
	return fmt.Sprintf("%d in flight go on, %d wait until it is resumed", inFlight, waiting)
}

func effectOfResume(s running.Snapshot, _ string) string {
	_, waiting, _ := counts(s)
	return fmt.Sprintf("%d may start as their gates open", waiting)
}

func effectOfAbort(s running.Snapshot, _ string) string {
	inFlight, waiting, done := counts(s)
	return fmt.Sprintf("stops %d in flight, leaves %d untouched that have not started, and %d as they are", inFlight, waiting, done)
}

func effectOfApprove(s running.Snapshot, target string) string {
	n := 0
	for i, c := range s.State.Components {
		if c.Status == rollout.Blocked && s.State.Spec.Steps[s.State.Spec.Components[i].Step].Label == target {
			n++
		}
	}
	return fmt.Sprintf("%s of step %s may start", finding.Count(n, "component"), target)
}

func effectOfRetry(s running.Snapshot, target string) string {
	if target != "" {
		if c, ok := s.Machine.Component(target); ok {
			return fmt.Sprintf("%s, which is %s, starts again", target, c.Status)
		}
		return target + " starts again"
	}
	n := 0
	for _, c := range s.State.Components {
		if c.Status.Bad() {
			n++
		}
	}
	return fmt.Sprintf("%d that failed start again", n)
}
