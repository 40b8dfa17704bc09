package argocd

import (
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/intake/files"
)

// The rules of the findings that reading Applications can make.
const (
	// RuleNotRead says that something was left out, and why.
	RuleNotRead = "not-read"
	// RuleMissing says that a file that something names is not there.
	RuleMissing = "file-missing"
	// RuleInvalid says that a field has the wrong type or value.
	RuleInvalid = "invalid-field"
	// RuleShared says that two parents apply one Application.
	RuleShared = "duplicate-resource"
	// RuleWave says that a sync wave is not a quoted number.
	RuleWave = "wave-not-a-string"
)

func newFinding(rule string, severity finding.Severity, at finding.Position, component, format string, args ...any) finding.Finding {
	return finding.Finding{
		Rule: rule, Severity: severity, Scope: finding.Rule, Component: component,
		Message: fmt.Sprintf(format, args...), Position: at, Basis: finding.Declared,
	}
}

// CycleError says that an app-of-apps contains itself.
type CycleError struct {
	// Applications are the names on the cycle; the first is repeated at the
	// end.
	Applications []string
	Position     finding.Position
}

// Error names the cycle whole.
func (e *CycleError) Error() string { return e.input().Error() }

// Unwrap makes the cycle an InputError.
func (e *CycleError) Unwrap() error { return e.input() }

func (e *CycleError) input() *files.InputError {
	return &files.InputError{
		Position: e.Position,
		Message:  "the app-of-apps contains itself: " + strings.Join(e.Applications, " -> "),
		Hint:     "an Application must not be in the source of its own child",
	}
}
