package evaluate

import (
	"context"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/kube/ignore"
)

// The methods about ignoreDifferences.
const (
	methodIgnoreCheck = "ignore-check"
	methodIgnoring    = "ignoring"
	methodWithout     = "without"
)

// CheckIgnore says what of a rule of ignoreDifferences cannot be understood; a worker
// does so.
func CheckIgnore(ctx context.Context, rule ignore.Rule) error {
	if isName(rule.Group) && isName(rule.Kind) && len(rule.JQ) == 0 {
		return nil
	}
	_, err := ask[ignore.Rule, bool](ctx, methodIgnoreCheck, rule, smallTime)
	return err
}

// checkIgnore is methodIgnoreCheck, in the worker.
func checkIgnore(rule ignore.Rule) (bool, error) { return true, ignore.Check(rule) }

// ignoringQuestion asks which rules are about a kind.
type ignoringQuestion struct {
	Rules []ignore.Rule `json:"rules"` // without their expressions
	Group string        `json:"group"`
	Kind  string        `json:"kind"`
}

// ignoring is methodIgnoring, in the worker.
func ignoring(q ignoringQuestion) ([]int, error) {
	return ignore.Matching(q.Rules, q.Group, q.Kind), nil
}

// Ignoring returns the indices of the rules of ignoreDifferences that are about a kind.
func Ignoring(ctx context.Context, rules []ignore.Rule, group, kind string) ([]int, error) {
	question := ignoringQuestion{Group: group, Kind: kind}
	var indices []int
	names := true
	for i, r := range rules {
		question.Rules = append(question.Rules, ignore.Rule{Group: r.Group, Kind: r.Kind})
		if names = names && isName(r.Group) && isName(r.Kind); r.Group == group && r.Kind == kind {
			indices = append(indices, i)
		}
	}
	if names {
		return indices, nil
	}
	return ask[ignoringQuestion, []int](ctx, methodIgnoring, question, smallTime)
}

// isName reports whether a pattern matches itself only.
func isName(pattern string) bool { return !strings.ContainsAny(pattern, `*?[]{}\`) }

// withoutQuestion has jq expressions and the object that they take something out of.
type withoutQuestion struct {
	Expressions []string       `json:"expressions"`
	Object      map[string]any `json:"object"`
}

// without is methodWithout, in the worker.
func without(q withoutQuestion) (map[string]any, error) {
	return ignore.Without(q.Expressions, q.Object)
}

// Without takes out of an object what jq expressions point at; a worker does so.
func Without(ctx context.Context, expressions []string, object map[string]any) (map[string]any, error) {
	if len(expressions) == 0 {
		return object, nil
	}
	limit := time.Duration(len(expressions)+1) * smallTime
	return ask[withoutQuestion, map[string]any](ctx, methodWithout, withoutQuestion{expressions, object}, limit)
}
