package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Config is one run.
type Config struct {
	Spec   rollout.Spec
	Engine Engine
	// Store keeps the state; nil keeps nothing, so that an interrupted run
	// cannot be resumed.
	Store Store
	// Start says what to do with a rollout that the store already holds.
	Start StartMode
	// Reopen gives the events that follow the recovery of a rollout which is
	// resumed, such as the Resume of one that was aborted or the Retry of one that
	// failed; nil gives none.
	Reopen func(rollout.State) []rollout.Event
	// Clock is the source of time; nil means the system's. Deadlines shows the same
	// time and has the timers at whose end something is given up; nil means Clock.
	Clock, Deadlines clock.Clock
	// Control carries what people ask for: Pause, Resume, Abort, Approve, Retry.
	Control <-chan rollout.Event
	// Sink is told what changed, after it was persisted, from one goroutine.
	// The rollout waits while it runs.
	Sink func(Notice)
}

// StartMode says what to do with a rollout that the store already holds.
type StartMode int

// The start modes.
const (
	// StartAuto resumes an unfinished rollout of the same Spec and starts anew
	// over a finished one. An unfinished rollout of another Spec is an
	// *UnfinishedError.
	StartAuto StartMode = iota
	// StartResume resumes what the store holds, by the Spec it holds, if that is
	// of the same revision (else an *UnfinishedError), also
	// when it has finished: an event of Control can then retry what failed. A
	// store that holds nothing is ErrNothingSaved.
	StartResume
	// StartFresh forgets what the store holds.
	StartFresh
)

// Mode is the mode of a start that is asked to resume, or to be fresh.
func Mode(resume, fresh bool) StartMode {
	switch {
	case fresh:
		return StartFresh
	case resume:
		return StartResume
	default:
		return StartAuto
	}
}

// Notice is one step of a run, for progress and reports.
type Notice struct {
	At          time.Time
	Transitions []rollout.Transition
	// Components are those that changed, as they are now; those to be removed
	// come last.
	Components []rollout.ComponentState
	Progress   rollout.Progress
	// View is valid only while Sink runs.
	View View
}

// View looks at the whole rollout.
type View interface {
	State() rollout.State
	Component(name string) (rollout.ComponentState, bool)
	BlockedBy(name string) []rollout.Blocker
}

// Outcome is how a run ended.
type Outcome struct {
	State rollout.State
	// Transitions are all of the rollout, also those of earlier runs.
	Transitions []rollout.Transition
	Result      rollout.Result
	// Blocked says for every component that is not Healthy, or not removed as it
	// should be, what it waits for.
	Blocked map[string][]rollout.Blocker
	// Interrupted is set when the context ended before the rollout did; the
	// state is saved.
	Interrupted bool
	// Resumed is set when the run took up a rollout that was in the store.
	Resumed           bool
	Started, Finished time.Time
}

// Run drives one rollout to its end. An error means that it could not be driven
// (state not saved, engine cannot watch); a rollout that fails is an Outcome.
func Run(ctx context.Context, config Config) (Outcome, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.Deadlines == nil {
		config.Deadlines = config.Clock
	}
	j := &journal{store: config.Store}
	saved, err := j.load()
	if err != nil {
		return Outcome{}, err
	}
	r := &runner{config: config, journal: j, inbox: newInbox(), attempts: map[string]*attempt{}}
	first, err := r.begin(saved)
	if err != nil {
		return Outcome{}, err
	}
	return r.run(ctx, first)
}

// runner is one run. Everything but the inbox is touched by one goroutine only.
type runner struct {
	config  Config
	machine *rollout.Machine
	journal *journal
	inbox   *inbox
	// attempts are the syncs and removals in flight, the last one of each
	// component.
	attempts map[string]*attempt
	working  sync.WaitGroup
	// timer ends when the machine is to wake, which is deadline where something fails
	// then.
	timer, deadline clock.Timer
	wakeAt          rollout.WakeAt
	resumed         bool
	finished        bool
}

// attempt is one call of Engine.Sync or Engine.Remove.
type attempt struct {
	number int
	cancel context.CancelFunc
	done   chan struct{}
}

// begin makes the machine and returns the first event.
func (r *runner) begin(saved *savedRollout) (rollout.Event, error) {
	resume, err := decideStart(r.config, saved)
	if err != nil {
		return nil, err
	}
	if resume {
		r.resumed = true
		r.journal.transitions = saved.transitions
		r.machine, err = rollout.Restore(saved.state)
		if err != nil {
			return nil, fmt.Errorf("resume rollout: %w", err)
		}
		return rollout.Recovered{}, r.journal.snapshot(r.machine.State())
	}
	r.machine, err = rollout.NewMachine(r.config.Spec, r.config.Clock.Now())
	if err != nil {
		return nil, fmt.Errorf("start rollout: %w", err)
	}
	return rollout.Started{}, r.journal.snapshot(r.machine.State())
}

func (r *runner) run(ctx context.Context, first rollout.Event) (Outcome, error) {
	began := r.config.Clock.Now()
	work, stop := context.WithCancel(ctx)
	defer stop()
	watched := make(chan error, 1)
	go func() {
		watched <- r.config.Engine.Watch(work, func(o Observation) { r.inbox.put(observed(o)) })
	}()
	r.timer, r.deadline = stopped(r.config.Clock), stopped(r.config.Deadlines)
	defer func() { r.timer.Stop(); r.deadline.Stop() }()

	watching := true
	events := []rollout.Event{first}
	if r.resumed && r.config.Reopen != nil {
		events = append(events, r.config.Reopen(r.machine.State())...)
	}
	err := r.handle(work, events)
	for err == nil && !r.finished && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-r.inbox.ready:
			err = r.handle(work, r.inbox.take())
		case event, ok := <-r.config.Control:
			if !ok {
				r.config.Control = nil
				continue
			}
			err = r.handle(work, []rollout.Event{event})
		case <-r.timer.C():
			err = r.handle(work, []rollout.Event{rollout.Tick{}})
		case <-r.deadline.C():
			err = r.handle(work, []rollout.Event{rollout.Tick{}})
		case watchErr := <-watched:
			watching = false
			if ctx.Err() == nil {
				err = fmt.Errorf("watch the cluster: %w", cmp.Or(watchErr, errWatchEnded))
			}
		}
	}

	stop()
	r.working.Wait()
	if watching {
		<-watched
	}
	if saveErr := r.journal.snapshot(r.machine.State()); saveErr != nil {
		err = errors.Join(err, saveErr)
	}
	return r.outcome(began, !r.finished && ctx.Err() != nil), err
}

var errWatchEnded = errors.New("the engine stopped watching")

// handle steps the machine through events that came together, persists what
// they changed in one write, and only then acts.
func (r *runner) handle(ctx context.Context, events []rollout.Event) error {
	now := r.config.Clock.Now()
	notice := Notice{At: now, View: r.machine}
	var changes []rollout.Change
	var effects []rollout.Effect
	for _, event := range events {
		update := r.machine.Step(event, now)
		effects = append(effects, update.Effects...)
		if !update.Changed() {
			continue
		}
		changes = append(changes, update.Change)
		notice.Transitions = append(notice.Transitions, update.Change.Transitions...)
		notice.Components = append(notice.Components, update.Change.Components...)
		notice.Components = append(notice.Components, update.Change.Removals...)
		notice.Progress = update.Change.Progress
	}
	if err := r.journal.append(changes, r.machine.State); err != nil {
		return err
	}
	for _, effect := range effects {
		r.act(ctx, effect)
	}
	r.finished = r.finished && r.machine.Result() != rollout.Running // else it was reopened
	if len(changes) > 0 && r.config.Sink != nil {
		r.config.Sink(notice)
	}
	return nil
}

// act carries out one effect.
func (r *runner) act(ctx context.Context, effect rollout.Effect) {
	switch e := effect.(type) {
	case rollout.Sync:
		r.attempt(ctx, e.Component, e.Attempt, func(ctx context.Context) rollout.Event {
			return syncFinished(e, r.config.Engine.Sync(ctx, e.Component))
		})
	case rollout.Remove:
		r.attempt(ctx, e.Component, e.Attempt, func(ctx context.Context) rollout.Event {
			left, err := r.config.Engine.Remove(ctx, e.Component)
			return removeFinished(e, left, err)
		})
	case rollout.Cancel:
		if a := r.attempts[e.Component]; a != nil && a.number == e.Attempt {
			a.cancel()
		}
	case rollout.WakeAt:
		r.wake(e)
	case rollout.Finish:
		r.finished = true
	}
}

// attempt starts one attempt; an earlier one of the same component returns first.
func (r *runner) attempt(ctx context.Context, component string, number int, work func(context.Context) rollout.Event) {
	before := r.attempts[component]
	attemptCtx, cancel := context.WithCancel(ctx)
	a := &attempt{number: number, cancel: cancel, done: make(chan struct{})}
	r.attempts[component] = a
	r.working.Go(func() {
		defer close(a.done)
		defer cancel()
		if before != nil {
			before.cancel()
			<-before.done
		}
		if attemptCtx.Err() != nil {
			return
		}
		end := work(attemptCtx)
		if attemptCtx.Err() != nil {
			return // nobody waits for the end of a cancelled attempt
		}
		r.inbox.put(end)
	})
}

func (r *runner) wake(w rollout.WakeAt) {
	if w.At.Equal(r.wakeAt.At) && w.Fails == r.wakeAt.Fails {
		return
	}
	r.wakeAt = w
	disarm(r.timer)
	disarm(r.deadline)
	timer := r.timer
	if w.Fails {
		timer = r.deadline
	}
	if !w.At.IsZero() {
		timer.Reset(max(w.At.Sub(r.config.Clock.Now()), 0))
	}
}

// stopped is a timer that is not armed.
func stopped(c clock.Clock) clock.Timer {
	t := c.NewTimer(time.Hour)
	disarm(t)
	return t
}

func disarm(t clock.Timer) {
	if !t.Stop() {
		select {
		case <-t.C():
		default:
		}
	}
}

func (r *runner) outcome(began time.Time, interrupted bool) Outcome {
	state := r.machine.State()
	now := r.config.Clock.Now()
	out := Outcome{
		State: state, Transitions: r.journal.transitions, Result: state.Result,
		Interrupted: interrupted, Resumed: r.resumed,
		Started: state.StartedAt, Finished: state.FinishedAt,
		Blocked: map[string][]rollout.Blocker{},
	}
	if out.Started.IsZero() {
		out.Started = began
	}
	if out.Finished.IsZero() {
		out.Finished = now
	}
	for _, c := range append(state.Components[:len(state.Components):len(state.Components)], state.Removals...) {
		if c.Status == rollout.Done || c.Status == rollout.Removed {
			continue
		}
		if blockers := r.machine.BlockedBy(c.Name); len(blockers) > 0 {
			out.Blocked[c.Name] = blockers
		}
	}
	return out
}

// observed turns what an engine saw into an event.
func observed(o Observation) rollout.Event {
	return rollout.Observed{
		Component: o.Component, Health: o.Health, Revision: o.Revision,
		Object: o.Object, Message: o.Message, Final: o.Final, At: o.At,
	}
}

// syncFinished turns the end of a sync into an event.
func syncFinished(e rollout.Sync, err error) rollout.Event {
	event := rollout.SyncFinished{Component: e.Component, Attempt: e.Attempt}
	event.Error, event.Object, event.Final = explained(err)
	return event
}

// removeFinished turns the end of a removal into an event.
func removeFinished(e rollout.Remove, left []finding.Resource, err error) rollout.Event {
	event := rollout.RemoveFinished{Component: e.Component, Attempt: e.Attempt, Left: left}
	event.Error, event.Object, event.Final = explained(err)
	return event
}

// explained takes an error of an engine apart; the text is empty for nil.
func explained(err error) (text string, object finding.Resource, final bool) {
	if err == nil {
		return "", finding.Resource{}, false
	}
	var at *ObjectError
	if errors.As(err, &at) {
		return at.Message, at.Object, at.Final
	}
	return err.Error(), finding.Resource{}, false
}
