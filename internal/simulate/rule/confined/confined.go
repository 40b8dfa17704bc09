// Package confined has workers read and evaluate the rules of a repository.
package confined

import (
	"context"
	"errors"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/simulate/rule"
)

// Question is a file of rules.
type Question struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

// Answer is what a file of rules says.
type Answer struct {
	Documents []rule.Document `json:"documents,omitempty"`
	// Rule and Failure are about the rule that cannot be used.
	Rule    string `json:"rule,omitempty"`
	Failure string `json:"failure,omitempty"`
}

// FormQuestion is a form to fill in: a rule.Form, which the worker takes as it is written.
type FormQuestion[F any] struct {
	Form  F          `json:"form"`
	Scope rule.Scope `json:"scope"`
}

// Rules reads and evaluates rules of the simulated world in workers. It implements
// rule.Elsewhere.
type Rules struct{}

var _ rule.Elsewhere = Rules{}

// Documents implements rule.Elsewhere. Errors about the text are *rule.ParseError.
func (Rules) Documents(ctx context.Context, source, text string) ([]rule.Document, error) {
	a, err := evaluate.AskOfFile[Question, Answer](ctx, wire.Rules, Question{source, text})
	if err == nil && a.Failure != "" {
		err = errors.New(a.Failure)
	}
	if err != nil && ctx.Err() == nil {
		return nil, &rule.ParseError{Source: source, Rule: a.Rule, Err: err}
	}
	return a.Documents, err
}

// Evaluate implements rule.Elsewhere.
func (Rules) Evaluate(ctx context.Context, form rule.Form, scope rule.Scope) ([]rule.Made, error) {
	return evaluate.Ask[FormQuestion[rule.Form], []rule.Made](ctx, wire.Form, FormQuestion[rule.Form]{form, scope})
}
