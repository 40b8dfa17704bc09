package evaluate

import (
	"context"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/kube/ignore"
)

// CheckIgnore says what of a rule of ignoreDifferences cannot be understood; a worker
// does so.
func CheckIgnore(ctx context.Context, rule ignore.Rule) error {
	if isName(rule.Group) && isName(rule.Kind) && len(rule.JQ) == 0 {
		return nil
	}
	_, err := Ask[ignore.Rule, bool](ctx, wire.IgnoreCheck, rule)
	return err
}

// Ignoring returns the indices of the rules of ignoreDifferences that are about a kind.
func Ignoring(ctx context.Context, rules []ignore.Rule, group, kind string) ([]int, error) {
	question := wire.IgnoringQuestion{Group: group, Kind: kind}
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
	return Ask[wire.IgnoringQuestion, []int](ctx, wire.Ignoring, question)
}

// isName reports whether a pattern matches itself only.
func isName(pattern string) bool { return !strings.ContainsAny(pattern, `*?[]{}\`) }

// Without takes out of an object what jq expressions point at; a worker does so.
func Without(ctx context.Context, expressions []string, object map[string]any) (map[string]any, error) {
	if len(expressions) == 0 {
		return object, nil
	}
	limit := time.Duration(len(expressions)+1) * smallTime
	return ask[wire.WithoutQuestion, map[string]any](ctx, wire.Without, wire.WithoutQuestion{Expressions: expressions, Object: object}, limit)
}
