package rehearsecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/plan"
	"github.com/rollout-ladder/ladder/internal/rollout"
)

// helm steers one rehearsal: by what was approved up front, and by the keys of
// the terminal.
type helm struct {
	ctx     context.Context
	leave   context.CancelFunc
	kept    bool
	approve []string
	control chan rollout.Event
	// keys says that somebody can answer, left that they left the run.
	keys bool
	left atomic.Bool
}

// waiting is how many requests of keys may wait for the rollout to take them.
const waiting = 16

// newHelm makes the context of the run, which ends when its watcher leaves.
func newHelm(parent context.Context, o *Options) *helm {
	h := &helm{
		kept: o.Keep || o.Plane != "", approve: o.Approve,
		control: make(chan rollout.Event, waiting),
	}
	h.ctx, h.leave = context.WithCancel(parent)
	return h
}

// take lets the keys of a display steer.
func (h *helm) take(display progress.Display, streams *stream.Streams) {
	h.keys = progress.Steer(display, streams, progress.Steering{Kept: h.kept, Do: h.do})
}

// do passes on what a key asked for.
func (h *helm) do(r progress.Request) {
	if r.Leave {
		h.left.Store(true)
		h.leave()
		return
	}
	select {
	case h.control <- r.Event:
	default: // the run is too busy to hear; the key can be pressed again
	}
}

// check refuses a rollout that would wait for ever, and hands over what was
// approved up front. A rollout that was interrupted in a pause goes on.
func (h *helm) check(p *plan.Plan) error {
	approved, err := approvals(p, h.approve)
	if err != nil {
		return err
	}
	if !h.keys {
		if err := unattended(p, approved); err != nil {
			return err
		}
	}
	go func() {
		h.send(rollout.Resume{})
		for _, step := range approved {
			h.send(rollout.Approve{Step: step, By: "--approve"})
		}
	}()
	return nil
}

func (h *helm) send(e rollout.Event) {
	select {
	case h.control <- e:
	case <-h.ctx.Done():
	}
}

// everyStep is the value of --approve for every step.
const everyStep = "all"

// approvals finds the steps that are approved up front: by their label or one
// of their phases.
func approvals(p *plan.Plan, asked []string) ([]int, error) {
	byHand := handStarted(p)
	var approved []int
	for _, text := range asked {
		found, known := false, false
		for k, step := range p.Steps {
			if text != everyStep && text != step.Label && !slices.ContainsFunc(step.Phases, func(ph component.Phase) bool { return ph.String() == text }) {
				continue
			}
			known = true
			if slices.Contains(byHand, k) && !slices.Contains(approved, k) {
				approved = append(approved, k)
			}
			found = found || slices.Contains(byHand, k)
		}
		switch {
		case found || text == everyStep:
		case known:
			return nil, usage("--approve %s: that step needs no approval: it has no maxUpdate 0%s", text, those(p, byHand))
		default:
			return nil, usage("--approve %s: the ladder has no such step%s", text, those(p, byHand))
		}
	}
	slices.Sort(approved)
	return approved, nil
}

// unattended refuses steps that nobody is there to approve.
func unattended(p *plan.Plan, approved []int) error {
	var held []int
	for _, k := range handStarted(p) {
		if !slices.Contains(approved, k) {
			held = append(held, k)
		}
	}
	if len(held) == 0 {
		return nil
	}
	first := p.Steps[held[0]]
	return usage("step %s starts by hand (maxUpdate 0), and nobody is at a terminal to approve it: approve it up front with --approve %s%s",
		first.Label, first.Label, those(p, held))
}

// handStarted are the steps with components that somebody must approve.
func handStarted(p *plan.Plan) []int {
	var steps []int
	for k, step := range p.Steps {
		if step.Limit < 0 && len(step.Components) > 0 {
			steps = append(steps, k)
		}
	}
	return steps
}

// those lists the steps that need an approval.
func those(p *plan.Plan, steps []int) string {
	if len(steps) == 0 {
		return "; no step needs an approval"
	}
	labels := make([]string, len(steps))
	for i, k := range steps {
		labels[i] = p.Steps[k].Label
	}
	return fmt.Sprintf("; steps that need one: %s (all of them: --approve %s)", strings.Join(labels, ", "), everyStep)
}

func usage(format string, arguments ...any) error {
	return exit.With(exit.Usage, fmt.Errorf(format, arguments...))
}

// interrupted says how to go on with a run that was left or interrupted.
func (h *helm) interrupted(w io.Writer, cmd *cobra.Command, args []string) {
	switch {
	case h.kept:
		what := ""
		if h.left.Load() {
			what = "detached; "
		}
		fmt.Fprintf(w, "ladder: %sthe plane stays up, the state of the rollout is saved, and nothing new starts. Go on with:\n  %s\n", what, resuming(cmd, args))
	case h.left.Load():
		fmt.Fprintln(w, "ladder: ended; the plane was not kept (--keep), so there is nothing to go on with")
	}
}

// resuming is the command line that goes on with this one.
func resuming(cmd *cobra.Command, args []string) string {
	words := []string{cmd.CommandPath()}
	for _, a := range args {
		words = append(words, quoted(a))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == "fresh" || f.Name == "resume" {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				words = append(words, "--"+f.Name, quoted(v))
			}
			return
		}
		words = append(words, "--"+f.Name+assigned(f))
	})
	return strings.Join(append(words, "--resume"), " ")
}

// assigned is the value of a flag as it follows its name.
func assigned(f *pflag.Flag) string {
	switch {
	case f.Value.Type() != "bool":
		return " " + quoted(f.Value.String())
	case f.Value.String() != "true":
		return "=" + f.Value.String()
	default:
		return ""
	}
}

// quoted makes a word that a shell takes as it is.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ended is the error of a run that its watcher left before it began.
func (h *helm) ended(err error) error {
	if h.left.Load() && errors.Is(err, context.Canceled) {
		return exit.With(exit.Interrupted, errors.New("interrupted before anything was rolled out"))
	}
	return err
}
