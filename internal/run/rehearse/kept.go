package rehearse

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/run/session"
	"github.com/rollout-ladder/ladder/internal/store"
	"github.com/rollout-ladder/ladder/internal/store/incluster"
)

// aboutFile says whose rollout the folder of the state holds.
const aboutFile = "rehearsal.json"

// Kept is a rehearsal that the plane of a name holds, whether it runs or has ended.
type Kept struct {
	Plane string `json:"-"`
	// Server is the address of the plane.
	Server string `json:"-"`
	// Platform and Environment are those of a rollout on a cluster.
	Platform    string `json:"platform"`
	Environment string `json:"environment"`
	// Path is the absolute path of the platform.
	Path string `json:"path"`
	// Unshown says why the rehearsal fails although its rollout succeeds; empty where it does
	// not.
	Unshown string `json:"unshown,omitempty"`
	// Began is when it began in real time, where it skips time so that all times of the state are
	// simulated; zero where it does not.
	Began time.Time `json:"began,omitzero"`
	// Flags are the words of the command line that a rehearsal that goes on with it needs
	// besides the environment and the plane.
	Flags []string `json:"flags,omitempty"`

	dir string
}

// Key names the rollout as one on a cluster.
func (k Kept) Key() incluster.Key {
	return incluster.Key{Platform: k.Platform, Environment: k.Environment}
}

// Peek reads the state, and says who runs the rehearsal: nobody where the Holder is zero.
func (k Kept) Peek() (store.Saved, store.Holder, error) { return store.Peek(k.dir) }

// AllKept lists the rehearsals on the planes that are up, by the names of the planes.
func AllKept(ctx context.Context) ([]Kept, error) {
	registry, err := plane.DefaultRegistry()
	if err != nil {
		return nil, err
	}
	planes, err := registry.List(ctx)
	if err != nil {
		return nil, err
	}
	var all []Kept
	for _, p := range planes {
		k, found, err := keptOn(p)
		if err != nil {
			return nil, err
		}
		if found {
			all = append(all, k)
		}
	}
	return all, nil
}

// KeptOn is the rehearsal on the plane of a name, which is that of --keep where the name
// is empty; found is false where nothing was rehearsed on it. A plane that is not up is a
// *plane.NotFoundError.
func KeptOn(ctx context.Context, name string) (k Kept, found bool, err error) {
	registry, err := plane.DefaultRegistry()
	if err != nil {
		return Kept{}, false, err
	}
	p, err := registry.Get(ctx, cmp.Or(name, keptName))
	if err != nil {
		return Kept{}, false, err
	}
	return keptOn(p)
}

func keptOn(p *plane.Plane) (k Kept, found bool, err error) {
	k = Kept{Plane: p.Name, Server: p.Server, dir: filepath.Join(p.Dir, stateFolder)}
	text, err := os.ReadFile(filepath.Join(k.dir, aboutFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Kept{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return Kept{}, false, fmt.Errorf("read about the rehearsal on plane %s: %w", p.Name, err)
	}
	return k, true, nil
}

// tell writes whose rollout the state on a kept plane is. It is called once the state is
// that of this rehearsal: one that is refused leaves what an earlier one wrote.
func (s *target) tell(loaded *analysis.Result) {
	if !s.kept {
		return
	}
	var began time.Time
	if s.options.skips() {
		began = time.Now()
		if before, found, err := keptOn(s.plane); err == nil && found && s.options.Resume && !before.Began.IsZero() {
			began = before.Began
		}
	}
	key := session.KeyOf(loaded.Platform)
	text, err := json.Marshal(Kept{
		Platform: key.Platform, Environment: key.Environment, Path: loaded.Platform.Root,
		Unshown: s.options.unshown(session.Unrendered(loaded), loaded.Findings),
		Began:   began,
		Flags:   s.options.Flags,
	})
	if err != nil {
		return // texts are JSON
	}
	file := filepath.Join(s.plane.Dir, stateFolder, aboutFile)
	// Without it the rehearsal goes on, and "ladder status" does not find it.
	if os.WriteFile(file+".new", text, 0o600) == nil {
		_ = os.Rename(file+".new", file)
	}
}
