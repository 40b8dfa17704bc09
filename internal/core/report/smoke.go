package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// The results of a run of smoke checks.
const (
	SmokePassed   = "passed"
	SmokeFailed   = "failed"
	SmokeTimedOut = "timed-out"
	// SmokeUnreachable means that the cluster did not answer.
	SmokeUnreachable = "unreachable"
)

// Smoke is the JSON document of ladder smoke; JSON writes it.
type Smoke struct {
	FormatVersion string `json:"formatVersion"`
	// Result is passed, failed, timed-out or unreachable.
	Result      string `json:"result"`
	Environment string `json:"environment"`
	// Cluster is what the checks were asked of: a context, or a plane.
	Cluster  string `json:"cluster"`
	Started  Time   `json:"started"`
	Finished Time   `json:"finished"`
	// Components have checks, in the order of the ladder.
	Components []SmokeComponent `json:"components"`
	Summary    SmokeSummary     `json:"summary"`
}

// SmokeSummary counts checks.
type SmokeSummary struct {
	Components int `json:"components"`
	Checks     int `json:"checks"`
	Failed     int `json:"failed"`
}

// SmokeComponent are the answers of the checks of one component.
type SmokeComponent struct {
	Name  string `json:"name"`
	Phase string `json:"phase"`
	// Validates names the components that a smoke validates.
	Validates []string     `json:"validates"`
	Checks    []SmokeCheck `json:"checks"`
}

// SmokeCheck is the answer of one check.
type SmokeCheck struct {
	Kind string `json:"kind"`
	// Check names the check for people: "secret ameide/db".
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	// Unanswered is set where the cluster did not answer.
	Unanswered bool   `json:"unanswered,omitempty"`
	Message    string `json:"message"`
	Attempts   int    `json:"attempts"`
	// Seconds is how long the last answer took.
	Seconds  float64          `json:"seconds"`
	Position finding.Position `json:"position"`
}

// NewSmokeCheck describes a check that was asked so often, the last time for so
// long; what came of it is the caller's to fill in.
func NewSmokeCheck(check model.Check, attempts int, took time.Duration) SmokeCheck {
	return SmokeCheck{Kind: string(check.Kind), Check: check.String(), Attempts: attempts, Seconds: took.Seconds(), Position: check.Position}
}

// Count fills in the summary and the version of the format.
func (s *Smoke) Count() {
	s.FormatVersion = FormatVersion
	s.Summary = SmokeSummary{Components: len(s.Components)}
	for _, c := range s.Components {
		for _, check := range c.Checks {
			s.Summary.Checks++
			if !check.OK {
				s.Summary.Failed++
			}
		}
	}
}

// SmokeText writes the answers for people: every check on a line, and below one
// that does not hold what was seen and where it is declared.
func SmokeText(w io.Writer, s Smoke, style Style) error {
	var b strings.Builder
	for _, c := range s.Components {
		title := c.Name
		if c.Phase != "" {
			title += " " + style.paint(faint, c.Phase)
		}
		if len(c.Validates) > 0 {
			title += style.paint(faint, " validates "+strings.Join(c.Validates, ", "))
		}
		b.WriteString(title + "\n")
		for _, check := range c.Checks {
			if check.OK {
				fmt.Fprintf(&b, "  %s %s: %s\n", style.paint(green, "ok  "), Plain(check.Check), Plain(check.Message))
				continue
			}
			fmt.Fprintf(&b, "  %s %s: %s\n", style.paint(red, "FAIL"), Plain(check.Check), Plain(check.Message))
			if check.Position.File != "" {
				fmt.Fprintf(&b, "       declared at %s\n", check.Position)
			}
		}
	}
	if len(s.Components) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(s.verdict() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (s Smoke) verdict() string {
	of := fmt.Sprintf("%s of %s on %s", finding.Count(s.Summary.Checks, "check"), finding.Count(s.Summary.Components, "component"), s.Cluster)
	switch {
	case s.Summary.Checks == 0:
		return "no component that was asked for declares smoke checks"
	case s.Result == SmokePassed:
		return of + ": all hold"
	case s.Result == SmokeTimedOut:
		return fmt.Sprintf("%s: %d do not hold, and the time is over", of, s.Summary.Failed)
	case s.Result == SmokeUnreachable:
		return fmt.Sprintf("%s: %d could not be answered or do not hold", of, s.Summary.Failed)
	default:
		return fmt.Sprintf("%s: %d do not hold", of, s.Summary.Failed)
	}
}
