package analysis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/cachedir"
	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// expressions compiles what descriptors write in CEL and Lua, and finds what does not compile.
// On the way it finds the expressions of smokes that are true whatever they look at.
func (r *run) expressions(ctx context.Context, components []model.Component) (wrong []finding.Finding, certain map[string]bool) {
	asked := writtenExpressions(components)
	if len(asked) == 0 {
		return nil, nil
	}
	name := r.nameOfExpressions(asked)
	holds, known := rememberedExpressions(name, len(asked))
	if !known {
		complete := true
		holds = make([]bool, len(asked))
		for i, e := range asked {
			var err error
			holds[i], err = e.compile(ctx)
			wrong = append(wrong, notCompiled(e, err)...)
			complete = complete && err == nil
		}
		// What was refused is told with its text, and what went over a limit may not do so again.
		if data, err := json.Marshal(holds); err == nil && complete && name != "" {
			cachedir.Write(name, data)
		}
	}
	certain = map[string]bool{}
	for i, e := range asked {
		if holds[i] {
			certain[e.Text] = true
		}
	}
	return wrong, certain
}

// expression is one that a descriptor writes.
type expression struct {
	Text string
	// Variable is what an expression in CEL looks at; empty for a script in Lua.
	Variable string
	// Check is set for the check of a smoke, which must not be true of everything.
	Check bool

	component, what string
	position        finding.Position
}

// compile compiles an expression, and reports whether a check is true whatever it looks at.
func (e expression) compile(ctx context.Context) (certain bool, err error) {
	switch {
	case e.Check:
		return evaluate.IsCertain(ctx, e.Text, e.Variable)
	case e.Variable == "":
		return false, evaluate.CheckLua(ctx, "health", e.Text)
	default:
		return false, evaluate.CheckCEL(ctx, e.Text, e.Variable)
	}
}

// writtenExpressions are those of some components.
func writtenExpressions(components []model.Component) []expression {
	var all []expression
	for _, c := range components {
		for _, check := range c.Smoke {
			if check.Kind == model.CheckCEL {
				all = append(all, expression{check.Expression, check.Variable(), true, c.Name, "the check " + check.String(), check.Position})
			}
		}
		for _, check := range c.Health {
			e := expression{check.CEL, "object", false, c.Name, "the health check on " + check.Kind, check.Position}
			if check.Lua != "" {
				e.Text, e.Variable = check.Lua, ""
			}
			all = append(all, e)
		}
	}
	return all
}

// expressionsFormat is part of the name of every file about expressions: raise it when
// another version of CEL or Lua compiles something else.
const expressionsFormat = "1"

// nameOfExpressions is the file of the cache about some expressions, empty where there is no
// cache. Lint of examples/ameide, all else being rendered before, takes 0.8 x the CPU time
// that it takes where a worker is started for them.
func (r *run) nameOfExpressions(all []expression) string {
	text, err := json.Marshal(all)
	if err != nil || r.options.NoCache {
		return ""
	}
	sum := sha256.Sum256(append([]byte(expressionsFormat), text...))
	return cachedir.Join(r.options.CacheDir, cachedir.Expressions, hex.EncodeToString(sum[:16])+".json")
}

// rememberedExpressions returns which of n expressions are certain, from a file of the cache.
func rememberedExpressions(name string, n int) (certain []bool, ok bool) {
	if name == "" {
		return nil, false
	}
	data, err := repofs.ReadRegular(name, 1<<20)
	if err != nil || json.Unmarshal(data, &certain) != nil || len(certain) != n {
		return nil, false
	}
	return certain, true
}

// notCompiled tells what an expression was refused for. A worker that reached a limit says
// nothing of the expression.
func notCompiled(e expression, err error) []finding.Finding {
	var refused *confine.MethodError
	if !errors.As(err, &refused) {
		return nil
	}
	return []finding.Finding{{
		Rule: descriptor.RuleInvalid, Severity: finding.Error, Scope: finding.Rule, Component: e.component, Position: e.position, Basis: finding.Declared,
		Message: fmt.Sprintf("%s of %s can never be evaluated: %s", e.what, e.component, refused.Text),
		Fix:     finding.Fix{Summary: "correct the expression"},
	}}
}
