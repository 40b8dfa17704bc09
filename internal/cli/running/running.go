// Package running finds the rollout on a cluster that a command is about, and
// reads its state without its lock.
package running

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/cluster"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
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

// Rollout is one on a cluster.
type Rollout struct {
	Cluster *incluster.Cluster
	Key     incluster.Key
}

// NoneError says that the cluster holds no rollout that was asked for.
type NoneError struct{ Name, Server string }

// Error implements error.
func (e *NoneError) Error() string {
	return fmt.Sprintf("cluster %s (%s) holds no such rollout; start one with: ladder rollout", e.Name, e.Server)
}

// Find returns the rollout that the flags choose. Several are wrong usage, none
// a *NoneError.
func (f *Flags) Find(ctx context.Context) (*Rollout, error) {
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
		if (f.Platform == "" || k.Platform == f.Platform) && (f.Environment == "" || k.Environment == f.Environment) {
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
	Key         incluster.Key
	Run         incluster.Run
	State       rollout.State
	Transitions []rollout.Transition
	// Machine answers what each component waits for.
	Machine *rollout.Machine
}

// Read reads the rollout.
func (r *Rollout) Read(ctx context.Context) (Snapshot, error) {
	saved, found, err := r.Cluster.Read(ctx, r.Key)
	if err != nil {
		return Snapshot{}, exit.With(exit.CouldNotRun, err)
	}
	s := Snapshot{Key: r.Key}
	if found {
		s.State, s.Transitions, found, err = executor.Restore(saved)
	}
	if err == nil && !found {
		err = errors.New("the state is gone")
	}
	if err == nil {
		s.Machine, err = rollout.Restore(s.State)
	}
	if err == nil {
		s.Run, err = r.Cluster.Running(ctx, r.Key)
	}
	if err != nil {
		return Snapshot{}, exit.With(exit.CouldNotRun, fmt.Errorf("read the rollout %s: %w", r.Key, err))
	}
	return s, nil
}
