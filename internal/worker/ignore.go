package worker

import (
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/kube/ignore"
)

// checkIgnore is wire.IgnoreCheck, in the worker.
func checkIgnore(rule ignore.Rule) (bool, error) { return true, ignore.Check(rule) }

// ignoring is wire.Ignoring, in the worker.
func ignoring(q wire.IgnoringQuestion) ([]int, error) {
	return ignore.Matching(q.Rules, q.Group, q.Kind), nil
}

// without is wire.Without, in the worker.
func without(q wire.WithoutQuestion) (map[string]any, error) {
	return ignore.Without(q.Expressions, q.Object)
}
