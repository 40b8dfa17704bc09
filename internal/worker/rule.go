package worker

import (
	"context"
	"encoding/json"
	"errors"

	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/rule/confined"
)

// readRules is wire.Rules, in the worker. It compiles every rule too, so that a
// document that is accepted can be evaluated.
func readRules(q confined.Question) (confined.Answer, error) {
	documents, err := rule.Documents(q.Source, q.Text)
	if err == nil {
		err = new(rule.Set).Add(q.Source, []byte(q.Text))
	}
	if parse := (*rule.ParseError)(nil); errors.As(err, &parse) {
		return confined.Answer{Rule: parse.Rule, Failure: parse.Err.Error()}, nil
	}
	return confined.Answer{Documents: documents}, err
}

var formsKept kept[*rule.Evaluation]

// fillForm is wire.Form, in the worker.
func fillForm(q confined.FormQuestion[json.RawMessage]) ([]rule.Made, error) {
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
