package analysis

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
)

// expressions compiles what descriptors write in CEL and Lua, and finds what does not compile.
// On the way it finds the expressions of smokes that are true whatever they look at.
func (r *Result) expressions(ctx context.Context) []finding.Finding {
	var wrong []finding.Finding
	for _, c := range r.Platform.Components {
		if !c.Enabled {
			continue
		}
		for _, check := range c.Smoke {
			if check.Kind != model.CheckCEL {
				continue
			}
			certain, err := evaluate.IsCertain(ctx, check.Expression, check.Variable())
			if certain {
				if r.certain == nil {
					r.certain = map[string]bool{}
				}
				r.certain[check.Expression] = true
			}
			wrong = append(wrong, notCompiled(c, "the check "+check.String(), check.Position, err)...)
		}
		for _, check := range c.Health {
			var err error
			if check.Lua != "" {
				err = evaluate.CheckLua(ctx, "health", check.Lua)
			} else {
				err = evaluate.CheckCEL(ctx, check.CEL, "object")
			}
			wrong = append(wrong, notCompiled(c, "the health check on "+check.Kind, check.Position, err)...)
		}
	}
	return wrong
}

// notCompiled tells what an expression was refused for. A worker that reached a limit says
// nothing of the expression.
func notCompiled(c model.Component, what string, at finding.Position, err error) []finding.Finding {
	var refused *confine.MethodError
	if !errors.As(err, &refused) {
		return nil
	}
	return []finding.Finding{{
		Rule: descriptor.RuleInvalid, Severity: finding.Error, Scope: finding.Rule, Component: c.Name, Position: at, Basis: finding.Declared,
		Message: fmt.Sprintf("%s of %s can never be evaluated: %s", what, c.Name, refused.Text),
		Fix:     finding.Fix{Summary: "correct the expression"},
	}}
}
