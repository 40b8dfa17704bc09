// Package watchcmd is the command "ladder watch".
package watchcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/running"
	"github.com/rollout-ladder/ladder/internal/cli/steering"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/run/session"
	"github.com/rollout-ladder/ladder/internal/store/incluster"
)

// look is how often the state is read, answerPatience how long a request of a
// key may take, outage how long the cluster may be away.
const (
	look           = time.Second
	answerPatience = 20 * time.Second
	outage         = 5 * time.Minute
)

// The alternate screen of a terminal. Source: xterm, "Control Sequences",
// private mode 1049.
const (
	enterScreen = "\x1b[?1049h\x1b[H"
	leaveScreen = "\x1b[?1049l"
)

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &running.Flags{}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Watch a rollout that another process runs, until it ends",
		Long: `Watch the rollout that a cluster holds the state of until it ends: on a terminal
on a screen of its own, elsewhere as lines, one for each change. Where the cluster
holds none, it is the one that is rehearsed on a plane.

The keys e, f, p, a and ? explain what waits, list failures, pause and resume,
and approve a step that starts by hand; q or Ctrl-C leave, and the rollout goes
on. Watching takes no lock.

Exit codes: 0 it succeeded; 1 it failed, was aborted, or there is none; 3 the
cluster does not answer; 4 it timed out; 130 left.`,
		Example: "  ladder watch --context dev",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), streams, global, o)
		},
	}
	o.Register(cmd)
	return cmd
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *running.Flags) error {
	found, err := o.Find(ctx)
	if err != nil {
		return err
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	v := &view{found: found, leave: leave, answers: make(chan string, 8)}
	v.display = progress.New(streams, global, time.Now)
	defer v.display.Close()
	keys := progress.Steer(v.display, streams, progress.Steering{Place: progress.Elsewhere, Do: func(r progress.Request) { v.do(ctx, r) }})
	if keys {
		fmt.Fprint(streams.Direct(), enterScreen)
	}
	last, err := v.follow(ctx)
	v.display.Close()
	if keys {
		fmt.Fprint(streams.Direct(), leaveScreen)
	}
	for len(v.answers) > 0 {
		fmt.Fprintln(streams.Err, "ladder: "+<-v.answers)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "%s %s\n", found.Key, last.Result)
	switch last.Result {
	case rollout.Succeeded:
		return nil
	case rollout.ResultTimedOut:
		return exit.Silent(exit.TimedOut)
	default:
		return exit.Silent(exit.No)
	}
}

// view shows one rollout.
type view struct {
	found   *running.Rollout
	display progress.Display
	leave   context.CancelFunc
	// answers are what the run refused.
	answers chan string
	// shown is how many transitions were shown, started which rollout they belong
	// to.
	shown   int
	started time.Time
}

// follow reads the state until the rollout ends.
func (v *view) follow(ctx context.Context) (rollout.State, error) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	away := time.Time{}
	for {
		s, err := v.found.Read(ctx)
		switch {
		case ctx.Err() != nil:
			return rollout.State{}, exit.Silent(exit.Interrupted)
		case err != nil:
			if away.IsZero() {
				away = time.Now()
			}
			if time.Since(away) > outage {
				return rollout.State{}, err
			}
		default:
			away = time.Time{}
			v.show(s)
			if s.State.Result != rollout.Running {
				return s.State, nil
			}
		}
		select {
		case <-ctx.Done():
			return rollout.State{}, exit.Silent(exit.Interrupted)
		case <-ticker.C:
		}
	}
}

func (v *view) show(s running.Snapshot) {
	if !s.State.StartedAt.Equal(v.started) || len(s.Transitions) < v.shown {
		v.started, v.shown = s.State.StartedAt, 0 // another rollout began
	}
	known := map[string]rollout.ComponentSpec{}
	steps := map[string]string{}
	for _, c := range s.State.Spec.Components {
		known[c.Name], steps[c.Name] = c, s.State.Spec.Steps[c.Step].Label
	}
	for _, t := range s.Transitions[v.shown:] {
		from, to, reason := session.Told(t, known[t.Component].Unrendered)
		v.display.Change(report.Change{At: t.At, Phase: steps[t.Component], Component: t.Component, From: from, To: to, Reason: reason})
	}
	v.shown = len(s.Transitions)
	if v.display.Redraw() == 0 {
		return
	}
	board := report.BoardOf(s.State, make([]string, len(s.State.Spec.Steps)), s.Machine.BlockedBy, 0, s.Now(time.Now()))
	if !s.Run.Alive {
		board.Note = "nobody drives it"
	}
	v.display.Board(board)
}

// do passes on what a key asked for.
func (v *view) do(ctx context.Context, r progress.Request) {
	if r.Leave {
		v.leave()
		return
	}
	if v.found.Rehearsal != nil {
		v.answer("a rehearsal is steered by the keys of the terminal that it runs on")
		return
	}
	request := incluster.Request{By: steering.Person()}
	switch e := r.Event.(type) {
	case rollout.Pause:
		request.Action = incluster.Pause
	case rollout.Resume:
		request.Action = incluster.Resume
	case rollout.Approve:
		request.Action = incluster.Approve
		s, err := v.found.Read(ctx)
		if err != nil || e.Step >= len(s.State.Spec.Steps) {
			return
		}
		request.Target = s.State.Spec.Steps[e.Step].Label
	default:
		return
	}
	go func() {
		answer, err := v.found.Cluster.Ask(ctx, v.found.Key, request, answerPatience)
		if err == nil && answer.Refused {
			err = errors.New(answer.Message)
		}
		if err != nil {
			v.answer(err.Error())
		}
	}()
}

// answer keeps what the run refused, for when the screen is left.
func (v *view) answer(text string) {
	select {
	case v.answers <- text:
	default: // enough was refused
	}
}
