package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/load"
	"github.com/rollout-ladder/ladder/internal/plan"
	"github.com/rollout-ladder/ladder/internal/report"
	"github.com/rollout-ladder/ladder/internal/rollout"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
)

// Options say what is rehearsed and how.
type Options struct {
	// Path is the platform: its root, or a folder below it.
	Path string
	Load load.Options

	Policy    rollout.Policy
	OnFailure rollout.FailurePolicy
	// Speed divides simulated delays, retries and timeouts.
	Speed float64
	Seed  int64
	// Jitter spreads the simulated delays, 0 to 1; 0 makes them as expected.
	Jitter float64
	// LeastTimeout is the least readiness timeout of a component in real time: a
	// correct ladder must not fail on a slow machine because its timeouts were
	// divided by the speed.
	LeastTimeout time.Duration
	// Faults by component name.
	Faults map[string]settings.Fault
	// Durations override the expected time of components, by name.
	Durations map[string]time.Duration
	// MaxInFlight caps the components in flight; 0 means the ladder's.
	MaxInFlight int
	// Timeout bounds the whole rehearsal; 0 means no bound.
	Timeout time.Duration
	// AllowUnrendered lets components that cannot be rendered stand in as empty
	// ones.
	AllowUnrendered bool

	// Plane is the name of a kept plane to run on; empty means a throwaway one.
	Plane string
	// Keep leaves the plane running.
	Keep bool
	// Resume takes up the rollout that was interrupted on the plane; Fresh
	// forgets it.
	Resume, Fresh bool

	// Check may refuse what is planned before anything is rolled out; nil refuses
	// nothing.
	Check func(*plan.Plan) error
	// Control carries what people ask for while the rollout runs: Pause, Resume,
	// Abort, Approve, Retry. nil carries nothing.
	Control <-chan rollout.Event

	Observer Observer
	Now      func() time.Time
}

// Observer is shown how a rehearsal goes. Its methods may be called from
// several goroutines.
type Observer interface {
	Stage(text string)
	Counted(done, total int, what string)
	Change(change report.Change)
	Board(board report.Board)
	// Redraw is how often Board is wanted; 0 means never.
	Redraw() time.Duration
}

// UnrenderedError lists the components that could not be rendered, where the
// user did not allow it.
type UnrenderedError struct{ Unrendered []report.Unrendered }

// Error implements error.
func (e *UnrenderedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of the components cannot be rendered:", len(e.Unrendered))
	for _, u := range e.Unrendered {
		fmt.Fprintf(&b, "\n  %s:%d: %s: %s", u.File, u.Line, u.Component, u.Reason)
	}
	b.WriteString("\nMend them, or let them stand in as empty components with --allow-unrendered")
	return b.String()
}

// UnknownComponentError names a component that is not part of the rehearsal.
type UnknownComponentError struct {
	Name string
	// Near are names it may have been meant for.
	Near []string
}

// Error implements error.
func (e *UnknownComponentError) Error() string {
	message := fmt.Sprintf("there is no enabled component %q", e.Name)
	if len(e.Near) > 0 {
		message += "; did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return message
}

// checkNames refuses faults and durations of components that do not exist.
func checkNames(components []component.Component, faults map[string]settings.Fault, durations map[string]time.Duration) error {
	var known, asked []string
	for _, c := range components {
		if c.Enabled {
			known = append(known, c.Name)
		}
	}
	for name := range faults {
		asked = append(asked, name)
	}
	for name := range durations {
		asked = append(asked, name)
	}
	slices.Sort(asked)
	for _, name := range asked {
		if !slices.Contains(known, name) {
			return &UnknownComponentError{Name: name, Near: near(name, known)}
		}
	}
	return nil
}

// near lists up to three names that contain the given one or share its parts.
func near(name string, known []string) []string {
	var found []string
	for _, k := range known {
		if strings.Contains(k, name) || strings.Contains(name, k) || strings.HasSuffix(k, "-"+name[strings.LastIndexByte(name, '-')+1:]) {
			found = append(found, k)
		}
	}
	return found[:min(len(found), 3)]
}

// RefusedError says that the repository has errors that leave no platform to
// roll out, such as two components of one name.
type RefusedError struct{ Findings []finding.Finding }

// Error implements error.
func (e *RefusedError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = fmt.Sprintf("%s: %s [%s]", f.Position, f.Message, f.Rule)
	}
	return "the platform cannot be rolled out:\n  " + strings.Join(lines, "\n  ")
}

// refuse returns an error where there is nothing sound to rehearse. Findings
// about the order are no reason: showing what they lead to is the purpose.
func refuse(loaded *load.Result, o Options) error {
	var wrong []finding.Finding
	for _, f := range loaded.Platform.Findings {
		if f.Severity == finding.Error {
			wrong = append(wrong, f)
		}
	}
	if len(wrong) > 0 {
		return &RefusedError{Findings: wrong}
	}
	if un := Unrendered(loaded); len(un) > 0 && !o.AllowUnrendered {
		return &UnrenderedError{Unrendered: un}
	}
	return checkNames(loaded.Platform.Components, o.Faults, o.Durations)
}
