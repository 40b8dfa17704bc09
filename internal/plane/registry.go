package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

const (
	stateFile = "state.json"
	// dataFolder is where a plane that Up started lives.
	dataFolder = "plane"
	lockSuffix = ".lock"
)

// namePattern is that of a DNS label (RFC 1123), which contexts, folders and
// shells all take.
var namePattern = lazyregexp.New(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// NotFoundError is a plane that does not run under that name.
type NotFoundError struct{ Name string }

// Error implements error.
func (e *NotFoundError) Error() string { return fmt.Sprintf("no plane %q is up", e.Name) }

// NameError is a name that no plane can have.
type NameError struct{ Name string }

// Error implements error.
func (e *NameError) Error() string {
	return fmt.Sprintf("%q is no name for a plane: use up to 63 lower-case letters, digits and dashes", e.Name)
}

// Registry holds the named planes of a user. Any number of processes may use one
// at once.
type Registry struct{ root string }

// NewRegistry uses the folder root, which is made when it is needed.
func NewRegistry(root string) *Registry { return &Registry{root} }

// DefaultRegistry is the user's: $XDG_STATE_HOME/ladder/planes, or
// ~/.local/state/ladder/planes (XDG base directory specification 0.8).
func DefaultRegistry() (*Registry, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("find the folder of planes: %w", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return NewRegistry(filepath.Join(state, "ladder", "planes")), nil
}

// state is what the registry knows of a plane.
type state struct {
	Name         string    `json:"name"`
	Dir          string    `json:"dir"`
	Kubeconfig   string    `json:"kubeconfig"`
	Server       string    `json:"server"`
	PID          int       `json:"pid"`
	Started      time.Time `json:"started"`
	ReadySeconds float64   `json:"readySeconds"`
}

// Up returns the plane of that name, and starts it if it does not run; started
// tells which. Of two at once one starts it and the other gets the same plane.
func (r *Registry) Up(ctx context.Context, name string, o Options) (p *Plane, started bool, err error) {
	unlock, err := r.lock(ctx, name)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	if p, err := r.living(name); err == nil {
		return p, false, nil
	} else if !errors.As(err, new(*NotFoundError)) {
		return nil, false, err
	}
	o.Name, o.Dir = name, filepath.Join(r.root, name, dataFolder)
	if p, err = Start(ctx, o); err != nil {
		return nil, false, errors.Join(err, os.RemoveAll(filepath.Join(r.root, name)))
	}
	if err := r.enter(name, p); err != nil {
		return nil, false, errors.Join(err, p.Stop(context.WithoutCancel(ctx)))
	}
	return p, true, nil
}

// Get returns the plane of that name, or a NotFoundError.
func (r *Registry) Get(ctx context.Context, name string) (*Plane, error) {
	if !namePattern.MatchString(name) {
		return nil, &NameError{name}
	}
	if _, err := os.Stat(filepath.Join(r.root, name)); errors.Is(err, fs.ErrNotExist) {
		return nil, &NotFoundError{name}
	}
	unlock, err := r.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return r.living(name)
}

// Down ends the plane of that name, or returns a NotFoundError.
func (r *Registry) Down(ctx context.Context, name string) error {
	unlock, err := r.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	p, err := r.living(name)
	if err != nil {
		return err
	}
	if err := p.Stop(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(r.root, name)); err != nil {
		return fmt.Errorf("forget plane %s: %w", name, err)
	}
	return nil
}

// List returns the planes that are up, by name.
func (r *Registry) List(ctx context.Context) ([]*Plane, error) {
	entries, err := os.ReadDir(r.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list planes: %w", err)
	}
	var planes []*Plane
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		p, err := r.Get(ctx, e.Name())
		if errors.As(err, new(*NotFoundError)) || errors.As(err, new(*NameError)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		planes = append(planes, p)
	}
	slices.SortFunc(planes, func(a, b *Plane) int { return strings.Compare(a.Name, b.Name) })
	return planes, nil
}

// lock serialises what is done to one name.
func (r *Registry) lock(ctx context.Context, name string) (unlock func(), err error) {
	if !namePattern.MatchString(name) {
		return nil, &NameError{name}
	}
	if err := os.MkdirAll(r.root, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of planes: %w", err)
	}
	file, err := acquire(ctx, filepath.Join(r.root, name+lockSuffix))
	if err != nil {
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

// living reads an entry; that of a dead plane is removed. The name is locked.
func (r *Registry) living(name string) (*Plane, error) {
	content, err := os.ReadFile(filepath.Join(r.root, name, stateFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read about plane %s: %w", name, err)
	}
	var s state
	if err == nil && json.Unmarshal(content, &s) == nil && s.Dir != "" {
		p := &Plane{Name: s.Name, Dir: s.Dir, Kubeconfig: s.Kubeconfig, Server: s.Server, PID: s.PID, Started: s.Started,
			ReadyAfter: time.Duration(s.ReadySeconds * float64(time.Second))}
		if p.alive() {
			return p, nil
		}
		// A folder elsewhere is a throwaway one, which Start sweeps.
	}
	if err := os.RemoveAll(filepath.Join(r.root, name)); err != nil {
		return nil, fmt.Errorf("forget dead plane %s: %w", name, err)
	}
	return nil, &NotFoundError{name}
}

// enter writes an entry, then lets the plane go. A crash in between leaves an
// entry of a plane that ends with this process. The name is locked.
func (r *Registry) enter(name string, p *Plane) error {
	p.Name = name
	content, err := json.MarshalIndent(state{Name: name, Dir: p.Dir, Kubeconfig: p.Kubeconfig, Server: p.Server, PID: p.PID,
		Started: p.Started, ReadySeconds: p.ReadyAfter.Seconds()}, "", "  ")
	if err != nil {
		return fmt.Errorf("write about plane %s: %w", name, err)
	}
	folder := filepath.Join(r.root, name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("write about plane %s: %w", name, err)
	}
	draft := filepath.Join(folder, stateFile+".new")
	if err := os.WriteFile(draft, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write about plane %s: %w", name, err)
	}
	if err := os.Rename(draft, filepath.Join(folder, stateFile)); err != nil {
		return fmt.Errorf("write about plane %s: %w", name, err)
	}
	return p.keep()
}
