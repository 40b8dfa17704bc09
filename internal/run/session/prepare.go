package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/engine"
	"github.com/rollout-ladder/ladder/internal/repo"
)

// Observer is shown how a rollout goes. Its methods may be called from several
// goroutines.
type Observer interface {
	Stage(text string)
	Counted(done, total int, what string)
	Change(change report.Change)
	Board(board report.Board)
	// Redraw is how often Board is wanted; 0 means never.
	Redraw() time.Duration
}

// Piece says what is rolled out, and by which plan.
type Piece struct {
	// Path is the platform: its root, or a folder below it.
	Path   string
	Load   analysis.Options
	Policy rollout.Policy
	// Durations override the expected time of components, by name.
	Durations map[string]time.Duration
	// MaxInFlight caps the components in flight; 0 means the ladder's.
	MaxInFlight int
	// AllowUnrendered lets components that cannot be rendered stand in as empty
	// ones.
	AllowUnrendered bool
	// Named are further names of components that must exist.
	Named []string
	// Check may refuse what is planned before anything is rolled out; nil refuses
	// nothing.
	Check func(*plan.Plan) error
}

// Prepare reads, renders and plans. Findings about the order are no reason to
// refuse; what leaves no platform to roll out is a *RefusedError,
// *UnrenderedError or *UnknownComponentError.
func Prepare(ctx context.Context, piece Piece, observer Observer) (*analysis.Result, *plan.Plan, error) {
	observer.Stage("reading " + piece.Path)
	options := piece.Load
	options.Progress = observer.Counted
	loaded, err := analysis.Load(ctx, piece.Path, options)
	if err != nil {
		return nil, nil, err
	}
	if err := refuse(loaded, piece); err != nil {
		return nil, nil, err
	}
	var ignore *engine.IgnoreError
	if errors.As(engine.CheckIgnored(ctx, Enabled(loaded)), &ignore) {
		return nil, nil, &repo.InputError{Position: ignore.Position, Message: "component " + ignore.Component + ": " + ignore.Message}
	}
	loaded.Findings = append(loaded.Findings, engine.Notes(Enabled(loaded), loaded.Objects)...)
	_, wrong, err := Scripts(ctx, loaded)
	if err != nil {
		return nil, nil, err
	}
	loaded.Findings = append(loaded.Findings, wrong...)
	finding.Sort(loaded.Findings)
	planned, err := plan.Build(PlanInput(loaded, piece.Policy, piece.Durations, piece.MaxInFlight))
	if err != nil {
		return nil, nil, fmt.Errorf("plan the rollout: %w", err)
	}
	if piece.Check != nil {
		if err := piece.Check(planned); err != nil {
			return nil, nil, err
		}
	}
	return loaded, planned, nil
}

// refuse returns an error where there is nothing sound to roll out.
func refuse(loaded *analysis.Result, piece Piece) error {
	var wrong []finding.Finding
	for _, f := range loaded.Platform.Findings {
		if f.Severity == finding.Error {
			wrong = append(wrong, f)
		}
	}
	if len(wrong) > 0 {
		return &RefusedError{Findings: wrong}
	}
	if un := Unrendered(loaded); len(un) > 0 && !piece.AllowUnrendered {
		return &UnrenderedError{Unrendered: un}
	}
	named := slices.Clone(piece.Named)
	for name := range piece.Durations {
		named = append(named, name)
	}
	return checkNames(loaded.Platform.Components, named)
}

// Enabled are the components that an engine may be asked for; those that could
// not be rendered stand in without objects.
func Enabled(loaded *analysis.Result) []model.Component {
	var out []model.Component
	for _, c := range loaded.Platform.Components {
		if c.Enabled {
			out = append(out, c)
		}
	}
	return out
}

// Requirements are the gates of each component, which the cluster remembers for
// the day on which the repository lacks it.
func Requirements(spec rollout.Spec) map[string][]string {
	out := make(map[string][]string, len(spec.Components))
	for _, c := range spec.Components {
		out[c.Name] = c.Requires
	}
	return out
}

// PlanInput is the input of the plan of a loaded platform. An empty policy is the one
// of what applies the platform: phases, or edges for Flux.
func PlanInput(loaded *analysis.Result, policy rollout.Policy, durations map[string]time.Duration, maxInFlight int) plan.Input {
	p := loaded.Platform
	if policy == "" {
		policy = rollout.Phases
		if p.Flux != nil {
			policy = rollout.Edges // Flux knows no other
		}
	}
	all := map[string]time.Duration{}
	maps.Copy(all, p.Simulation.Durations)
	maps.Copy(all, durations)
	return plan.Input{
		Environment: p.Environment, Components: loaded.Typed(), Ladder: p.Ladder, Edges: loaded.Edges,
		Policy: policy, Durations: all, MaxInFlight: maxInFlight,
	}
}
