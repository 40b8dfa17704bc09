// Package running finds the rollout that a command is about, on a cluster or rehearsed
// on a plane, and reads its state without its lock.
package running

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/cluster"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/steering"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/run/rehearse"
	"github.com/rollout-ladder/ladder/internal/store"
	"github.com/rollout-ladder/ladder/internal/store/incluster"
)

// Flags choose a rollout.
type Flags struct {
	cluster.Flags
	Platform    string
	Environment string
}

// Register adds the flags to a command.
func (f *Flags) Register(cmd *cobra.Command) {
	f.Flags.Register(cmd)
	set := cmd.Flags()
	set.StringVar(&f.Platform, "platform", "", "platform of the rollout, as ladder status lists it (default: the only one)")
	set.StringVarP(&f.Environment, "environment", "e", "", "environment of the rollout (default: the only one)")
}

// Rollout is one on a cluster, or one that is rehearsed.
type Rollout struct {
	Key incluster.Key
	// Cluster holds the state; nil for a rehearsal.
	Cluster *incluster.Cluster
	// Rehearsal is nil for a rollout on a cluster.
	Rehearsal *rehearse.Kept
}

// NoneError says that the cluster holds no rollout that was asked for.
type NoneError struct{ Name, Server string }

// Error implements error.
func (e *NoneError) Error() string {
	return fmt.Sprintf("cluster %s (%s) holds no such rollout; start one with: ladder rollout", e.Name, e.Server)
}

// Find returns the rollout that the flags choose: of a cluster, else the one that is
// rehearsed on a plane. Several are wrong usage, none a *NoneError.
func (f *Flags) Find(ctx context.Context) (*Rollout, error) {
	found, err := f.onCluster(ctx)
	var none *NoneError
	nowhere := errors.As(err, &none) || errors.As(err, new(*cluster.NotConfiguredError))
	if !nowhere && !errors.As(err, new(*cluster.UnreachableError)) {
		return found, err
	}
	kept, keptErr := rehearse.AllKept(ctx)
	kept = slices.DeleteFunc(kept, func(k rehearse.Kept) bool { return !f.chosen(k.Key()) })
	asked := func(k rehearse.Kept) bool { return none != nil && k.Server == none.Server }
	if f.Kubeconfig != "" || f.Context != "" || f.Plane != "" || slices.ContainsFunc(kept, asked) {
		kept = slices.DeleteFunc(kept, func(k rehearse.Kept) bool { return !asked(k) })
	}
	if keptErr != nil || len(kept) == 0 {
		return nil, err
	}
	flags := make([]string, len(kept))
	for i, k := range kept {
		flags[i] = "--plane " + k.Plane
	}
	switch {
	case !nowhere: // the cluster may hold the rollout that is meant
		return nil, fmt.Errorf("%w; what is rehearsed is shown with %s", err, strings.Join(flags, " or "))
	case len(kept) == 1:
		return &Rollout{Key: kept[0].Key(), Rehearsal: &kept[0]}, nil
	}
	return nil, exit.With(exit.Usage, fmt.Errorf("several planes hold a rehearsal; choose one:\n  %s", strings.Join(flags, "\n  ")))
}

func (f *Flags) chosen(k incluster.Key) bool {
	return (f.Platform == "" || k.Platform == f.Platform) && (f.Environment == "" || k.Environment == f.Environment)
}

func (f *Flags) onCluster(ctx context.Context) (*Rollout, error) {
	access, err := f.Open(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := access.Reach(ctx); err != nil {
		return nil, err
	}
	c, err := incluster.Connect(access.REST, time.Now)
	if err != nil {
		return nil, exit.With(exit.CouldNotRun, err)
	}
	keys, err := c.Rollouts(ctx)
	if err != nil {
		return nil, exit.With(exit.CouldNotRun, err)
	}
	var found []incluster.Key
	var names []string
	for _, k := range keys {
		if f.chosen(k) {
			found = append(found, k)
			names = append(names, "--platform "+k.Platform+" --environment "+k.Environment)
		}
	}
	switch len(found) {
	case 0:
		return nil, exit.With(exit.No, &NoneError{Name: access.Name, Server: access.REST.Host})
	case 1:
		return &Rollout{Cluster: c, Key: found[0]}, nil
	}
	return nil, exit.With(exit.Usage, fmt.Errorf("the cluster holds several rollouts; choose one:\n  %s", strings.Join(names, "\n  ")))
}

// Snapshot is a rollout as it was saved last.
type Snapshot struct {
	Key incluster.Key
	Run incluster.Run
	// Rehearsal is nil for a rollout on a cluster.
	Rehearsal   *rehearse.Kept
	State       rollout.State
	Transitions []rollout.Transition
	// Machine answers what each component waits for.
	Machine *rollout.Machine
}

// Simulated reports whether the times of the state are those of a rehearsal that skips time:
// they may be ahead of the clock.
func (s Snapshot) Simulated() bool { return s.Rehearsal != nil && !s.Rehearsal.Began.IsZero() }

// Now is the moment of the rollout: where times are simulated it is when something changed last.
func (s Snapshot) Now(now time.Time) time.Time {
	if s.Simulated() {
		return s.State.UpdatedAt
	}
	return now
}

// Resuming is the command that goes on with a rollout that nobody runs.
func (s Snapshot) Resuming() string {
	if k := s.Rehearsal; k != nil {
		words := append([]string{"ladder", "rehearse", k.Path, "--environment", k.Environment, "--plane", k.Plane}, k.Flags...)
		for i, w := range words {
			words[i] = steering.Quoted(w)
		}
		return strings.Join(append(words, "--resume"), " ")
	}
	return "ladder rollout --resume"
}

// Read reads the rollout.
func (r *Rollout) Read(ctx context.Context) (Snapshot, error) {
	s := Snapshot{Key: r.Key, Rehearsal: r.Rehearsal}
	saved, err := r.saved(ctx, &s.Run)
	if err != nil {
		return Snapshot{}, exit.With(exit.CouldNotRun, err)
	}
	var found bool
	s.State, s.Transitions, found, err = executor.Restore(saved)
	if err == nil && !found {
		err = errors.New("the state is gone")
	}
	if err == nil {
		s.Machine, err = rollout.Restore(s.State)
	}
	if err != nil {
		return Snapshot{}, exit.With(exit.CouldNotRun, fmt.Errorf("read the rollout %s: %w", r.Key, err))
	}
	return s, nil
}

// saved reads what is saved of the rollout, and who runs it.
func (r *Rollout) saved(ctx context.Context, run *incluster.Run) (saved store.Saved, err error) {
	if r.Rehearsal != nil {
		saved, run.Holder, err = r.Rehearsal.Peek()
		run.Alive = run.Holder.PID != 0
		return saved, err
	}
	saved, _, err = r.Cluster.Read(ctx, r.Key)
	if err == nil {
		*run, err = r.Cluster.Running(ctx, r.Key)
	}
	return saved, err
}
