package evaluate

import (
	"context"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/kube/health/script"
)

// scriptsOfMany is how much CPU time all the scripts of an argocd-cm may take.
const scriptsOfMany = 20 * time.Second

// CheckLua compiles a health script in a worker.
func CheckLua(ctx context.Context, name, text string) error {
	_, err := Ask[wire.LuaQuestion, script.Result](ctx, wire.Lua, wire.LuaQuestion{Name: name, Text: text, Check: true})
	return err
}

// Lua runs a health script over an object in a worker.
func Lua(ctx context.Context, name, text string, object map[string]any, now time.Time) (script.Result, error) {
	return Ask[wire.LuaQuestion, script.Result](ctx, wire.Lua, wire.LuaQuestion{Name: name, Text: text, Object: object, Now: now})
}

// CheckCEL compiles a boolean expression over a variable in a worker.
func CheckCEL(ctx context.Context, expression, variable string) error {
	_, err := Ask[wire.CELQuestion, wire.CELAnswer](ctx, wire.CEL, wire.CELQuestion{Expression: expression, Variable: variable, Check: true})
	return err
}

// IsCertain reports whether a boolean expression is true whatever its variable is; a
// worker evaluates it without it.
func IsCertain(ctx context.Context, expression, variable string) (bool, error) {
	a, err := Ask[wire.CELQuestion, wire.CELAnswer](ctx, wire.CEL, wire.CELQuestion{Expression: expression, Variable: variable, Certain: true})
	return a.Holds, err
}

// CEL evaluates a boolean expression over a variable in a worker. Where it does not
// hold for another reason than being false, that is the reason. The error is about
// an expression that does not compile or goes over a limit.
func CEL(ctx context.Context, expression, variable string, value any) (holds bool, reason string, err error) {
	a, err := Ask[wire.CELQuestion, wire.CELAnswer](ctx, wire.CEL, wire.CELQuestion{Expression: expression, Variable: variable, Value: value})
	return a.Holds, a.Reason, err
}

// ArgoCM reads the health scripts of an argocd-cm in a worker.
func ArgoCM(ctx context.Context, data map[string]string) ([]script.Script, []script.Problem, error) {
	a, err := ask[map[string]string, wire.ArgoCMAnswer](ctx, wire.ArgoCM, data, scriptsOfMany)
	return a.Scripts, a.Problems, err
}

// Match returns the first of some scripts that is for a kind, -1 for none. Patterns
// are matched in a worker: some take for ever.
func Match(ctx context.Context, scripts []script.Script, group, kind string) (int, error) {
	return Ask[wire.MatchQuestion, int](ctx, wire.Match, wire.MatchQuestion{Scripts: scripts, Group: group, Kind: kind})
}

// Translate says a readiness expression in the Lua of Argo CD; a worker does so.
func Translate(ctx context.Context, text string) (string, error) {
	return Ask[wire.TranslateQuestion, string](ctx, wire.Translate, wire.TranslateQuestion{Expression: text})
}
