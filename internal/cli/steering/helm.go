// Package steering steers a rollout from the command line that runs it: by what was
// approved up front, and by the keys of the terminal.
package steering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Helm steers one run.
type Helm struct {
	// Context is that of the run; it ends when its watcher leaves.
	Context context.Context
	// Leave ends it.
	Leave context.CancelFunc
	// Control carries what is asked for.
	Control chan rollout.Event
	// Note is told which steps wait for people elsewhere; nil for nobody.
	Note func(string)

	place   progress.Place
	upFront UpFront
	// keys says that somebody can answer, left that they left the run.
	keys bool
	left atomic.Bool
}

// waiting is how many requests of keys may wait for the rollout to take them.
const waiting = 16

// New returns the helm of a run at a place, with what its flags approve up front.
func New(parent context.Context, place progress.Place, upFront UpFront) *Helm {
	h := &Helm{place: place, upFront: upFront, Control: make(chan rollout.Event, waiting)}
	h.Context, h.Leave = context.WithCancel(parent)
	return h
}

// Left reports whether the watcher left the run.
func (h *Helm) Left() bool { return h.left.Load() }

// Take lets the keys of a display steer.
func (h *Helm) Take(display progress.Display, streams *stream.Streams) {
	h.keys = progress.Steer(display, streams, progress.Steering{Place: h.place, Do: h.Do})
}

// Do passes on what a key asked for.
func (h *Helm) Do(r progress.Request) {
	if r.Leave {
		h.left.Store(true)
		h.Leave()
		return
	}
	if approve, ok := r.Event.(rollout.Approve); ok {
		approve.By = Person()
		r.Event = approve
	}
	select {
	case h.Control <- r.Event:
	default: // the run is too busy to hear; the key can be pressed again
	}
}

// Check refuses a rollout that would wait for ever, and hands over what was
// approved up front. On a cluster people may approve from elsewhere. A rollout that
// was interrupted in a pause goes on.
func (h *Helm) Check(p *plan.Plan) error {
	approved, err := Approvals(p, h.upFront.Approve)
	if err != nil {
		return err
	}
	held := unapproved(p, approved)
	switch {
	case h.keys || len(held) == 0:
	case h.place != progress.RealCluster:
		return unattended(p, held)
	case h.Note != nil:
		for _, k := range held {
			h.Note(fmt.Sprintf("step %s starts by hand (maxUpdate 0), when somebody runs: ladder approve %s", p.Steps[k].Label, p.Steps[k].Label))
		}
	}
	go func() {
		h.send(rollout.Resume{})
		for _, step := range approved {
			h.send(rollout.Approve{Step: step, By: Person(), Reason: cmp.Or(h.upFront.Reason, "up front, by --approve")})
		}
	}()
	return nil
}

func (h *Helm) send(e rollout.Event) {
	select {
	case h.Control <- e:
	case <-h.Context.Done():
	}
}

// EveryStep is the value of --approve for every step.
const EveryStep = "all"

// Approvals finds the steps that are approved up front: by their label or one
// of their phases.
func Approvals(p *plan.Plan, asked []string) ([]int, error) {
	byHand := HandStarted(p)
	var approved []int
	for _, text := range asked {
		found, known := false, false
		for k, step := range p.Steps {
			if text != EveryStep && text != step.Label && !slices.ContainsFunc(step.Phases, func(ph model.Phase) bool { return ph.String() == text }) {
				continue
			}
			known = true
			if slices.Contains(byHand, k) && !slices.Contains(approved, k) {
				approved = append(approved, k)
			}
			found = found || slices.Contains(byHand, k)
		}
		switch {
		case found || text == EveryStep:
		case known:
			return nil, exit.Usagef("--approve %s: that step needs no approval: it has no maxUpdate 0%s", text, Those(p, byHand))
		default:
			return nil, exit.Usagef("--approve %s: the ladder has no such step%s", text, Those(p, byHand))
		}
	}
	slices.Sort(approved)
	return approved, nil
}

// unapproved are the steps that are started by hand and were not approved up front.
func unapproved(p *plan.Plan, approved []int) []int {
	var held []int
	for _, k := range HandStarted(p) {
		if !slices.Contains(approved, k) {
			held = append(held, k)
		}
	}
	return held
}

// unattended refuses steps that nobody is there to approve.
func unattended(p *plan.Plan, held []int) error {
	first := p.Steps[held[0]]
	return exit.Usagef("step %s starts by hand (maxUpdate 0), and nobody is at a terminal to approve it: approve it up front with --approve %s%s",
		first.Label, first.Label, Those(p, held))
}

// HandStarted are the steps with components that somebody must approve.
func HandStarted(p *plan.Plan) []int {
	var steps []int
	for k, step := range p.Steps {
		if step.Limit < 0 && len(step.Components) > 0 {
			steps = append(steps, k)
		}
	}
	return steps
}

// Those lists the steps that need an approval.
func Those(p *plan.Plan, steps []int) string {
	if len(steps) == 0 {
		return "; no step needs an approval"
	}
	labels := make([]string, len(steps))
	for i, k := range steps {
		labels[i] = p.Steps[k].Label
	}
	return fmt.Sprintf("; steps that need one: %s (all of them: --approve %s)", strings.Join(labels, ", "), EveryStep)
}

// Resuming is the command line that goes on with this one.
func Resuming(cmd *cobra.Command, args []string) string {
	words := []string{cmd.CommandPath()}
	for _, a := range args {
		words = append(words, Quoted(a))
	}
	for _, w := range Flags(cmd, "fresh", "resume") {
		words = append(words, Quoted(w))
	}
	return strings.Join(append(words, "--resume"), " ")
}

// Flags are the words of the flags that a command was given, without those that are
// named.
func Flags(cmd *cobra.Command, without ...string) []string {
	var words []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		switch {
		case slices.Contains(without, f.Name):
		case isList:
			for _, v := range list.GetSlice() {
				words = append(words, "--"+f.Name, v)
			}
		case f.Value.Type() != "bool":
			words = append(words, "--"+f.Name, f.Value.String())
		case f.Value.String() != "true":
			words = append(words, "--"+f.Name+"="+f.Value.String())
		default:
			words = append(words, "--"+f.Name)
		}
	})
	return words
}

// Quoted makes a word that a shell takes as it is.
func Quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Ended is the error of a run that its watcher left before it began.
func (h *Helm) Ended(err error) error {
	if h.left.Load() && errors.Is(err, context.Canceled) {
		return exit.With(exit.Interrupted, errors.New("interrupted before anything was rolled out"))
	}
	return err
}
