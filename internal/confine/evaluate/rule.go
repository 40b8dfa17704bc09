package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/simulate/rule"
)

// The methods about rules of the simulated world.
const (
	methodRules = "rules"
	methodForm  = "form"
)

// rulesTime is how much CPU time it may take to read a file of rules; tests shorten it.
var rulesTime = 10 * time.Second

type rulesQuestion struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

type rulesAnswer struct {
	Documents []rule.Document `json:"documents,omitempty"`
	// Rule and Failure are about the rule that cannot be used.
	Rule    string `json:"rule,omitempty"`
	Failure string `json:"failure,omitempty"`
}

// readRules is methodRules, in the worker. It compiles every rule too, so that a
// document that is accepted can be evaluated.
func readRules(q rulesQuestion) (rulesAnswer, error) {
	documents, err := rule.Documents(q.Source, q.Text)
	if err == nil {
		err = new(rule.Set).Add(q.Source, []byte(q.Text))
	}
	if parse := (*rule.ParseError)(nil); errors.As(err, &parse) {
		return rulesAnswer{Rule: parse.Rule, Failure: parse.Err.Error()}, nil
	}
	return rulesAnswer{Documents: documents}, err
}

type formQuestion[F any] struct {
	Form  F          `json:"form"`
	Scope rule.Scope `json:"scope"`
}

var formsKept kept[*rule.Evaluation]

// fillForm is methodForm, in the worker.
func fillForm(q formQuestion[json.RawMessage]) ([]rule.Made, error) {
	compiled, err := formsKept.get(string(q.Form), func() (*rule.Evaluation, error) {
		var form rule.Form
		if err := kjson.UnmarshalCaseSensitivePreserveInts(q.Form, &form); err != nil {
			return nil, err
		}
		return rule.Compile(form)
	})
	if err != nil {
		return nil, err
	}
	return compiled.All(context.Background(), q.Scope)
}

// Rules reads and evaluates rules of the simulated world in workers. It implements
// rule.Elsewhere.
type Rules struct{}

var _ rule.Elsewhere = Rules{}

// Documents implements rule.Elsewhere. Errors about the text are *rule.ParseError.
func (Rules) Documents(ctx context.Context, source, text string) ([]rule.Document, error) {
	a, err := ask[rulesQuestion, rulesAnswer](ctx, methodRules, rulesQuestion{source, text}, rulesTime)
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
	return ask[formQuestion[rule.Form], []rule.Made](ctx, methodForm, formQuestion[rule.Form]{form, scope}, smallTime)
}
