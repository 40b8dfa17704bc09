package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/store"
)

// Store keeps the state of a rollout; *store.Folder is one.
type Store interface {
	// Load returns what was saved.
	Load() (store.Saved, error)
	// Append adds records and returns when they are safe.
	Append(records ...json.RawMessage) error
	// Snapshot replaces everything by one state.
	Snapshot(state json.RawMessage) error
}

// UnfinishedError means that the store holds a rollout of another Spec that has
// not ended.
type UnfinishedError struct {
	Revision string // of the rollout in the store
}

// Error implements error.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("a rollout at revision %s has not finished, and this is another one", e.Revision)
}

// ErrNothingSaved means that the store holds no rollout to resume.
var ErrNothingSaved = errors.New("there is no rollout to resume")

// savedSnapshot is the format of a snapshot; the records of the journal are
// rollout.Change.
type savedSnapshot struct {
	State       rollout.State        `json:"state"`
	Transitions []rollout.Transition `json:"transitions"`
}

// savedRollout is what a store held.
type savedRollout struct {
	state       rollout.State
	transitions []rollout.Transition
}

// snapshotEvery is after how many records the journal is folded into a
// snapshot: often enough that a resume is quick, rarely enough that the cost of
// a change does not depend on the size of the rollout.
const snapshotEvery = 5000

// journal persists the changes of a rollout.
type journal struct {
	store       Store
	transitions []rollout.Transition
	records     int
}

// load returns the rollout in the store, nil where there is none.
func (j *journal) load() (*savedRollout, error) {
	if j.store == nil {
		return nil, nil
	}
	data, err := j.store.Load()
	if err != nil {
		return nil, err
	}
	return restore(data)
}

// restore puts a snapshot and the changes after it together.
func restore(data store.Saved) (*savedRollout, error) {
	if data.Snapshot == nil {
		return nil, nil
	}
	var snapshot savedSnapshot
	if err := json.Unmarshal(data.Snapshot, &snapshot); err != nil {
		return nil, fmt.Errorf("read saved rollout: %w", err)
	}
	saved := &savedRollout{snapshot.State, snapshot.Transitions}
	for i, record := range data.Records {
		var change rollout.Change
		if err := json.Unmarshal(record, &change); err != nil {
			return nil, fmt.Errorf("read saved rollout, record %d: %w", i+1, err)
		}
		saved.state.Replay(change)
		saved.transitions = append(saved.transitions, change.Transitions...)
	}
	return saved, nil
}

// append persists changes that were made together. state is called only when a
// snapshot is due.
func (j *journal) append(changes []rollout.Change, state func() rollout.State) error {
	if len(changes) == 0 {
		return nil
	}
	for _, c := range changes {
		j.transitions = append(j.transitions, c.Transitions...)
	}
	if j.store == nil {
		return nil
	}
	if j.records+len(changes) > snapshotEvery {
		return j.snapshot(state())
	}
	records := make([]json.RawMessage, 0, len(changes))
	for _, c := range changes {
		data, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("save rollout: %w", err)
		}
		records = append(records, data)
	}
	j.records += len(records)
	return j.store.Append(records...)
}

func (j *journal) snapshot(state rollout.State) error {
	if j.store == nil {
		return nil
	}
	data, err := json.Marshal(savedSnapshot{state, j.transitions})
	if err != nil {
		return fmt.Errorf("save rollout: %w", err)
	}
	j.records = 0
	return j.store.Snapshot(data)
}

// decideStart says whether to resume what the store held.
func decideStart(config Config, saved *savedRollout) (resume bool, err error) {
	if saved == nil && config.Start == StartResume {
		return false, ErrNothingSaved
	}
	if saved == nil || config.Start == StartFresh {
		return false, nil
	}
	if config.Start == StartResume {
		// The engine holds the objects of the Spec that was given: resuming another
		// revision with them would roll out what was never planned.
		if saved.state.Spec.Revision != config.Spec.Revision {
			return false, &UnfinishedError{Revision: saved.state.Spec.Revision}
		}
		return true, nil
	}
	if saved.state.Result != rollout.Running {
		return false, nil
	}
	same, err := sameSpec(saved.state.Spec, config.Spec)
	if err != nil {
		return false, err
	}
	if !same {
		return false, &UnfinishedError{Revision: saved.state.Spec.Revision}
	}
	return true, nil
}

// sameSpec compares by what is saved: nil and empty lists are the same, and the
// machine fills in the default failure policy. What is to be removed follows
// from the cluster, which the saved rollout has changed meanwhile; the saved
// list counts.
func sameSpec(a, b rollout.Spec) (bool, error) {
	a.Remove, b.Remove = nil, nil
	if b.OnFailure == "" {
		b.OnFailure = rollout.Halt
	}
	var back rollout.Spec
	data, err := json.Marshal(b)
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if err != nil {
		return false, fmt.Errorf("compare rollouts: %w", err)
	}
	return reflect.DeepEqual(a, back), nil
}

// Restore is the rollout that a store holds; found is false where it holds none.
func Restore(data store.Saved) (state rollout.State, transitions []rollout.Transition, found bool, err error) {
	saved, err := restore(data)
	if err != nil || saved == nil {
		return rollout.State{}, nil, false, err
	}
	return saved.state, saved.transitions, true, nil
}
